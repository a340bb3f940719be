package io.github.reactorratelimit.webflux;

import static io.github.reactorratelimit.webflux.testing.Rules.byUser;
import static java.time.Duration.ofDays;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofNanos;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.http.HttpHeaders;

/** The values of the fields, for every policy. */
class RateLimitHeadersTest {

    private static final TokenBucket PER_MINUTE = TokenBucket.perMinute(100);

    private final RateLimitHeaderWriter writer =
            new RateLimitHeaderWriter(HeaderOptions.defaults().withRetryAfterJitter(0));

    private static RateLimitRule named(String name, RateLimitPolicy policy) {
        return byUser(name).policy(policy).build();
    }

    private Map<String, String> write(RateLimitRule rule, Decision decision) {
        HttpHeaders fields = new HttpHeaders();
        if (decision.allowed()) {
            writer.writeAllowed(List.of(new Grant(rule, rule.limiter(), decision, null)), fields);
        } else {
            writer.writeDenied(RateLimitDenial.by(rule, decision), List.of(), fields);
        }
        return fields.toSingleValueMap();
    }

    private Map<String, String> write(Decision decision) {
        return write(named("burst", decision.policy()), decision);
    }

    private static Decision allowed(RateLimitPolicy policy, long remaining, Duration moreAfter) {
        return Decision.wouldAllow(policy, 1, remaining, ofDays(7).toNanos(), moreAfter.toNanos());
    }

    private static Decision denied(RateLimitPolicy policy, Duration retryAfter) {
        return Decision.deny(policy, 1, 0, Decision.UNKNOWN, retryAfter.toNanos());
    }

    @Test
    void deniedRequestLearnsWhenToComeBack() {
        assertThat(write(denied(PER_MINUTE, ofSeconds(5))))
                .containsEntry("RateLimit-Policy", "\"burst\";q=100;w=60")
                .containsEntry("RateLimit", "\"burst\";r=0;t=5")
                .containsEntry("Retry-After", "5")
                .containsEntry("Cache-Control", "no-store")
                .hasSize(4);
    }

    @Test
    void allowedRequestLearnsWhatIsLeftAndHasNoRetryAfter() {
        assertThat(write(allowed(PER_MINUTE, 99, ofMillis(600))))
                .containsEntry("RateLimit", "\"burst\";r=99;t=1")
                .doesNotContainKey("Retry-After");
    }

    /** The field is for when there is more, not for when nothing is spent any more. */
    @Test
    void allowedRequestIsNotToldWhenTheQuotaIsWhole() {
        assertThat(write(Decision.wouldAllow(PER_MINUTE, 1, 0, ofMinutes(1).toNanos(), Decision.UNKNOWN)))
                .containsEntry("RateLimit", "\"burst\";r=0");
    }

    @ParameterizedTest
    @CsvSource({"0, 0", "1, 1", "999999999, 1", "1000000000, 1", "1000000001, 2", "59999999999, 60"})
    void secondsAreRoundedUp(long nanos, long seconds) {
        assertThat(write(denied(PER_MINUTE, ofNanos(nanos))))
                .containsEntry("RateLimit", "\"burst\";r=0;t=" + seconds)
                .containsEntry("Retry-After", Long.toString(Math.max(1, seconds)));
    }

    @Test
    void unknownTimesAreLeftOut() {
        Decision denial = Decision.deny(ConcurrencyLimit.of(3), 1, 0, Decision.UNKNOWN, Decision.UNKNOWN);
        assertThat(write(denial))
                .containsEntry("RateLimit-Policy", "\"burst\";q=3;qu=\"concurrent-requests\"")
                .containsEntry("RateLimit", "\"burst\";r=0")
                .doesNotContainKey("Retry-After");
    }

    static Stream<Arguments> windows() {
        return Stream.of(
                Arguments.of(TokenBucket.perSecond(10), "q=10;w=1"),
                Arguments.of(TokenBucket.perSecond(10).withBurst(35), "q=40;w=4"),
                Arguments.of(TokenBucket.perSecond(100).withBurst(20), "q=100;w=1"),
                Arguments.of(TokenBucket.of(7, ofSeconds(3)).withBurst(1), "q=7;w=3"),
                Arguments.of(Gcra.perMinute(100).withBurst(10), "q=10;w=6"),
                Arguments.of(LeakyBucket.perSecond(5).withQueue(20), "q=20;w=4"),
                Arguments.of(FixedWindow.of(10, ofMillis(999)), "q=10;w=1"),
                Arguments.of(FixedWindow.of(10, ofMillis(1_001)), "q=19;w=2"),
                Arguments.of(FixedWindow.daily(1_000, ZoneOffset.UTC), "q=1000;w=86400"),
                Arguments.of(SlidingWindowLog.of(10, ofMinutes(1)), "q=10;w=60"),
                Arguments.of(SlidingWindowCounter.of(10, ofSeconds(30)), "q=10;w=30"),
                Arguments.of(ConcurrencyLimit.of(5), "q=5;qu=\"concurrent-requests\""));
    }

    @ParameterizedTest
    @MethodSource("windows")
    void windowIsTheTimeInWholeSecondsInWhichTheQuotaComesBack(RateLimitPolicy policy, String expected) {
        assertThat(write(allowed(policy, 1, ofSeconds(1)))).containsEntry("RateLimit-Policy", "\"burst\";" + expected);
    }

    @Test
    void keysWithPoliciesOfTheirOwnAreToldThose() {
        for (int round = 0; round < 2; round++) {
            assertThat(write(allowed(PER_MINUTE, 1, ofSeconds(1))))
                    .containsEntry("RateLimit-Policy", "\"burst\";q=100;w=60");
            assertThat(write(allowed(TokenBucket.perSecond(100), 1, ofSeconds(1))))
                    .containsEntry("RateLimit-Policy", "\"burst\";q=100;w=1");
        }
    }

    @Test
    void integersHaveAtMostFifteenDigits() {
        FixedWindow huge = FixedWindow.of(1L << 52, ofDays(1));
        assertThat(write(allowed(huge, (1L << 52) - 1, ofDays(1))))
                .containsEntry("RateLimit-Policy", "\"burst\";q=999999999999999;w=86400")
                .containsEntry("RateLimit", "\"burst\";r=999999999999999;t=86400");
    }

    @Test
    void quotesAndBackslashesInNamesAreEscaped() {
        assertThat(write(named("say \"hi\" \\o/", PER_MINUTE), denied(PER_MINUTE, ofSeconds(1))))
                .containsEntry("RateLimit", "\"say \\\"hi\\\" \\\\o/\";r=0;t=1");
    }

    @ParameterizedTest
    @ValueSource(strings = {"a\r\nSet-Cookie: x", "\u0000", "\u007f", "café", "\ud83d\ude00"})
    void namesThatAreNotPrintableAsciiAreRefused(String name) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RateLimitRule.named(name))
                .withMessageStartingWith("the name of a rule must be printable ASCII");
    }

    @Test
    void missingNamesAreRefused() {
        assertThatIllegalArgumentException().isThrownBy(() -> RateLimitRule.named(""));
        assertThatNullPointerException()
                .isThrownBy(() -> RateLimitRule.named(null))
                .withMessage("name");
    }

    @Test
    void quotaOfBodiesIsInBytes() {
        RateLimitRule upload = byUser("upload")
                .policy(PER_MINUTE)
                .cost(RequestCost.contentLength(1_000, 100))
                .build();
        assertThat(write(upload, allowed(PER_MINUTE, 40, ofSeconds(1))))
                .containsEntry("RateLimit-Policy", "\"upload\";q=100000;qu=\"content-bytes\";w=60")
                .containsEntry("RateLimit", "\"upload\";r=40000;t=1");
    }

    @Test
    void quotaInBytesSaturates() {
        RateLimitRule upload = byUser("upload")
                .policy(PER_MINUTE)
                .cost(RequestCost.contentLength(Long.MAX_VALUE / 2, 100))
                .build();
        assertThat(write(upload, allowed(PER_MINUTE, 0, ofSeconds(1))))
                .containsEntry("RateLimit-Policy", "\"upload\";q=999999999999999;qu=\"content-bytes\";w=60")
                .containsEntry("RateLimit", "\"upload\";r=0;t=1");
    }

    @Test
    void writingReplacesWhatAnEarlierLimitWrote() {
        HttpHeaders response = new HttpHeaders();
        RateLimitRule rule = named("burst", PER_MINUTE);
        writer.writeDenied(RateLimitDenial.by(rule, denied(PER_MINUTE, ofSeconds(9))), List.of(), response);
        writer.writeDenied(RateLimitDenial.by(rule, denied(PER_MINUTE, ofSeconds(5))), List.of(), response);

        assertThat(response.get("RateLimit")).containsExactly("\"burst\";r=0;t=5");
        assertThat(response.get("Retry-After")).containsExactly("5");
    }
}
