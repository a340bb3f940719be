package io.github.reactorratelimit.webflux;

import static io.github.reactorratelimit.webflux.testing.Rules.byUser;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.webflux.HeaderOptions.Legacy;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.http.HttpHeaders;
import org.springframework.mock.http.server.reactive.MockServerHttpResponse;

/** The fields of an answer, with a clock and a random number that stand still. */
class RateLimitHeaderWriterTest {

    private static final TokenBucket POLICY = TokenBucket.perMinute(100);
    private static final Clock CLOCK = Clock.fixed(Instant.ofEpochSecond(1_000, 1), ZoneOffset.UTC);

    private final RateLimitRule rule = byUser("burst").policy(POLICY).build();
    private final RateLimitRule other = byUser("other").policy(POLICY).build();
    private final MockServerHttpResponse response = new MockServerHttpResponse();

    private static Decision denied(RateLimitPolicy policy, long retryAfterNanos) {
        return Decision.deny(policy, 1, 0, 1_000_000_000L, retryAfterNanos);
    }

    private Grant granted(RateLimitRule by, long remaining) {
        return new Grant(
                by, by.limiter(), Decision.wouldAllow(POLICY, 1, remaining, 60_000_000_000L, 1_000_000_000L), null);
    }

    private HttpHeaders deniedFields(HeaderOptions options, double random, long retryAfterNanos) {
        new RateLimitHeaderWriter(options, CLOCK, () -> random)
                .writeDenied(
                        RateLimitDenial.by(rule, denied(POLICY, retryAfterNanos)), List.of(), response.getHeaders());
        return response.getHeaders();
    }

    @ParameterizedTest
    @CsvSource({
        "1, 0.0, 1",
        "999999999, 0.0, 1",
        "1000000000, 0.0, 1",
        "1000000001, 0.0, 2",
        "1000000000, 0.999, 2",
        "10000000000, 0.0, 10",
        "10000000000, 0.5, 11",
        "10000000000, 0.999, 11",
        "1, 0.499, 1",
        "1, 0.5, 2",
        "2000000001, 0.499, 3",
        "2000000001, 0.5, 4",
        "9000000000, 0.499, 9",
        "9000000000, 0.999, 10",
        "20000000000, 0.999, 22",
        "100000000000, 0.5, 105",
        "100000000000, 0.999, 110",
        "0, 0.0, 1"
    })
    void retryAfterIsRoundedUpAndLateNeverEarly(long retryAfterNanos, double random, String seconds) {
        assertThat(deniedFields(HeaderOptions.defaults(), random, retryAfterNanos)
                        .getFirst("Retry-After"))
                .isEqualTo(seconds);
    }

    @Test
    void retryAfterIsNeverEarlierThanTheFieldOfTheLimit() {
        long seed = System.nanoTime();
        SplittableRandom random = new SplittableRandom(seed);
        for (int i = 0; i < 2_000; i++) {
            double jitter = random.nextDouble();
            HttpHeaders fields = deniedFields(
                    HeaderOptions.defaults().withRetryAfterJitter(jitter),
                    random.nextDouble(),
                    random.nextLong(1, 1L << 50));
            String state = fields.getFirst("RateLimit");
            long t = Long.parseLong(state.substring(state.indexOf("t=") + 2));
            assertThat(Long.parseLong(fields.getFirst("Retry-After")))
                    .as("seed " + seed)
                    .isBetween(t, (long) Math.ceil(t * (1 + jitter)) + 1);
        }
    }

    @Test
    void retryAfterIsExactWithoutJitter() {
        assertThat(deniedFields(HeaderOptions.defaults().withRetryAfterJitter(0), 0.999, 2_000_000_001L)
                        .getFirst("Retry-After"))
                .isEqualTo("3");
    }

    @Test
    void hugeTimesDoNotOverflow() {
        assertThat(deniedFields(HeaderOptions.defaults().withRetryAfterJitter(1), 0.999, Long.MAX_VALUE - 1)
                        .getFirst("Retry-After"))
                .hasSizeBetween(11, 15)
                .containsOnlyDigits();
    }

    @Test
    void epochOfTheLegacyResetIsRoundedUp() {
        HttpHeaders fields = deniedFields(
                HeaderOptions.defaults().withLegacy(Legacy.EPOCH_SECONDS),
                0,
                Duration.ofSeconds(5).toNanos());

        assertThat(fields.getFirst("X-RateLimit-Reset")).isEqualTo("1006");
        assertThat(fields.getFirst("X-RateLimit-Remaining")).isEqualTo("0");
        assertThat(fields.getFirst("X-RateLimit-Limit")).isEqualTo("100");
        assertThat(fields.getFirst("RateLimit")).isEqualTo("\"burst\";r=0;t=5");
    }

    @Test
    void ruleWithLeastLeftBinds() {
        RateLimitHeaderWriter fields = new RateLimitHeaderWriter(HeaderOptions.defaults());

        fields.writeAllowed(List.of(granted(rule, 7), granted(other, 3)), response.getHeaders());

        assertThat(response.getHeaders().getFirst("RateLimit")).isEqualTo("\"other\";r=3;t=1");
        assertThat(response.getHeaders().getFirst("RateLimit-Policy"))
                .isEqualTo("\"burst\";q=100;w=60, \"other\";q=100;w=60");
    }

    @Test
    void nothingIsSentWhereAllFieldsAreOff() {
        RateLimitHeaderWriter fields =
                new RateLimitHeaderWriter(HeaderOptions.defaults().withStandard(false));

        fields.writeAllowed(List.of(granted(rule, 7)), response.getHeaders());

        assertThat(response.getHeaders().isEmpty()).isTrue();
    }

    @Test
    void denialWithoutADecisionTakesBackWhatEarlierRulesSaid() {
        RateLimitHeaderWriter fields = new RateLimitHeaderWriter(HeaderOptions.defaults());
        fields.writeAllowed(List.of(granted(rule, 7)), response.getHeaders());

        fields.writeDenied(RateLimitDenial.failed(other), List.of(granted(rule, 7)), response.getHeaders());

        assertThat(response.getHeaders().headerSet())
                .extracting(Map.Entry::getKey)
                .containsExactly("Cache-Control");
    }
}
