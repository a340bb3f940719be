package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;
import java.time.ZoneId;
import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class ScriptArgumentsTest {

    private static final Duration NANO = Duration.ofNanos(1);

    private static String at(long nowMicros, RateLimitPolicy policy, Ask... asks) {
        return String.join(" ", ScriptArguments.at(nowMicros, PolicyArguments.of(policy, 77), List.of(asks)));
    }

    @Test
    void argumentsAreTimeThenPartsThenAsks() {
        RateLimitPolicy policy =
                Policies.all(TokenBucket.of(7, Duration.ofSeconds(3)), FixedWindow.of(5, NANO.multipliedBy(2_000)));

        assertThat(at(5, policy, Ask.take(1), Ask.giveBack(2, 4), Ask.reset()))
                .isEqualTo("5  2 gcra 5 7 3000000 7 0 0 epoch_window 2 5 2 0 t 1 0 b 2 4 x 0 0");
    }

    @Test
    void withoutATimeItIsTheServers() {
        PolicyArguments policy = PolicyArguments.of(TokenBucket.perSecond(10), 0);

        assertThat(ScriptArguments.bare(policy, List.of(Ask.look(3), Ask.charge(99)), 1))
                .containsExactly(
                        "", "", "1", "gcra", "5", "1", "100000", "10", "0", "0", "0", "l", "3", "0", "c", "99", "0");
    }

    static Stream<Arguments> policies() {
        Duration second = Duration.ofSeconds(1);
        return Stream.of(
                Arguments.of(Gcra.perSecond(3), "gcra 5 3 1000000 3 0 0"),
                Arguments.of(TokenBucket.perSecond(10).withInitialTokens(4), "gcra 5 1 100000 10 600000 77"),
                Arguments.of(LeakyBucket.perSecond(3).withQueue(8), "leaky_bucket 5 3 1000000 8 0 0"),
                Arguments.of(new TokenBucket(9, 2, second).stepwise(), "stepwise_bucket 3 9 2 1000000"),
                Arguments.of(FixedWindow.of(5, second).fromFirstRequest(), "first_request_window 2 5 1000000"),
                Arguments.of(SlidingWindowLog.of(5, second), "sliding_log 2 5 1000000"),
                Arguments.of(SlidingWindowCounter.of(5, second), "sliding_counter 4 5 1000000 1 1000000"),
                Arguments.of(
                        SlidingWindowCounter.of(1L << 40, second), "sliding_counter 4 1099511627776 1000000 123 8131"),
                Arguments.of(
                        FixedWindow.daily(3, ZoneId.of("UTC")),
                        "calendar_window 6 3 3 -86400000000 0 86400000000 172800000000"));
    }

    @ParameterizedTest
    @MethodSource("policies")
    void parametersAreTheIntegersOfTheJavaSteps(RateLimitPolicy policy, String expected) {
        assertThat(at(1, policy, Ask.take(1))).isEqualTo("1  1 " + expected + " 0 t 1 0");
    }

    @Test
    void calendarWindowsFollowTheTime() {
        PolicyArguments policy = PolicyArguments.of(FixedWindow.monthly(3, ZoneId.of("UTC")), 0);
        String january = String.join(" ", ScriptArguments.at(0, policy, List.of(Ask.take(1))));
        String april = String.join(
                " ", ScriptArguments.at(Duration.ofDays(100).toMillis() * 1000, policy, List.of(Ask.take(1))));

        assertThat(january).contains(" 3 -2678400000000 0 2678400000000 5097600000000 ");
        assertThat(april).contains(" 3 5097600000000 7776000000000 10368000000000 13046400000000 ");
        assertThat(String.join(" ", ScriptArguments.at(0, policy, List.of(Ask.take(1)))))
                .isEqualTo(january);
    }

    @Test
    void keysOfPartsNeverCollideAndTellTheFormOfTheState() {
        Duration second = Duration.ofSeconds(1);
        RateLimitPolicy policy = Policies.all(
                TokenBucket.perSecond(1),
                Gcra.perMinute(30),
                FixedWindow.of(5, second),
                FixedWindow.daily(5, ZoneId.of("UTC")),
                LeakyBucket.perSecond(1),
                TokenBucket.perSecond(1).stepwise(),
                SlidingWindowCounter.of(5, second),
                SlidingWindowLog.of(5, second));

        assertThat(PolicyArguments.of(policy, 0).partNames()).containsExactly("b", "b2", "w", "w2", "q", "s", "c", "l");
    }

    @Test
    void policiesWithTheSameAlgorithmsShareAScript() {
        RedisScript script = PolicyArguments.of(TokenBucket.perSecond(1), 0).script();

        assertThat(PolicyArguments.of(Gcra.perMinute(3), 5).script()).isSameAs(script);
        assertThat(PolicyArguments.of(Policies.all(Gcra.perMinute(3), TokenBucket.perSecond(9)), 0)
                        .script())
                .isSameAs(script);
        assertThat(PolicyArguments.of(LeakyBucket.perMinute(3), 5).script().sha1())
                .isNotEqualTo(script.sha1());
    }

    static Stream<Arguments> inexact() {
        Duration second = Duration.ofSeconds(1);
        return Stream.of(
                Arguments.of(TokenBucket.of(1, NANO), "period"),
                Arguments.of(TokenBucket.of(1, NANO).stepwise(), "period"),
                Arguments.of(Gcra.of(1, Duration.ofNanos(1_001)), "period"),
                Arguments.of(LeakyBucket.of(1, NANO), "period"),
                Arguments.of(FixedWindow.of(1, NANO), "window"),
                Arguments.of(FixedWindow.of(1, NANO).fromFirstRequest(), "window"),
                Arguments.of(SlidingWindowLog.of(1, NANO), "window"),
                Arguments.of(SlidingWindowCounter.of(1, NANO), "window"),
                Arguments.of(SlidingWindowCounter.of(1L << 50, second), "limit 1125899906842624"),
                Arguments.of(new TokenBucket(1L << 52, 1_425, Duration.ofNanos(10_000)), "capacity 4503599627370496"),
                Arguments.of(Policies.all(TokenBucket.perSecond(1), FixedWindow.of(1, NANO)), "window"),
                Arguments.of(ConcurrencyLimit.of(5), "ConcurrencyLimit"));
    }

    @ParameterizedTest
    @MethodSource("inexact")
    void whatRedisCannotHoldExactlyIsRefusedByName(RateLimitPolicy policy, String name) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> PolicyArguments.of(policy, 0))
                .withMessageContaining(name);
    }

    @Test
    void aHundredDaysAreHeld() {
        assertThat(at(1, TokenBucket.of(7, Duration.ofDays(100)), Ask.take(7))).contains(" 7 8640000000000 7 ");
    }

    @Test
    void asksThatCannotBeAreRefusedByName() {
        assertThatIllegalArgumentException().isThrownBy(() -> Ask.take(0)).withMessageContaining("permits");
        assertThatIllegalArgumentException().isThrownBy(() -> Ask.look(-5)).withMessageContaining("-5");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Ask.charge(1L << 53))
                .withMessageContaining("permits");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Ask.giveBack(1, 1L << 53))
                .withMessageContaining("atMicros");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Ask(Ask.Op.RESET, 1, 0, 0, 0))
                .withMessageContaining("permits");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> at(1, TokenBucket.perSecond(3), Ask.take(4)))
                .withMessageContaining("permits of a TAKE must be at most the capacity 3, was 4");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> at(1, TokenBucket.perSecond(3)))
                .withMessageContaining("asks");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> at(
                        1,
                        TokenBucket.perSecond(3),
                        Collections.nCopies(257, Ask.take(1)).toArray(Ask[]::new)))
                .withMessageContaining("257");
    }
}
