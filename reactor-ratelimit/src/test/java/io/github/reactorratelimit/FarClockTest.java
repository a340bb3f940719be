package io.github.reactorratelimit;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.local.SketchStore;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Limiters that run for as long as a clock of nanoseconds can tell: 292 years. */
class FarClockTest {

    private static final Duration YEAR = Duration.ofDays(365);
    private static final Duration AWKWARD = Duration.ofNanos(1_000_000_007);

    private final ManualScheduler time = new ManualScheduler(-5);

    static Stream<RateLimitPolicy> policies() {
        return Stream.of(
                TokenBucket.of(61, AWKWARD),
                TokenBucket.of(61, AWKWARD).withInitialTokens(0),
                Gcra.of(61, AWKWARD).withBurst(10),
                LeakyBucket.of(61, AWKWARD),
                TokenBucket.of(7, Duration.ofSeconds(3)),
                Gcra.of(7, Duration.ofSeconds(3)),
                LeakyBucket.of(7, Duration.ofSeconds(3)),
                TokenBucket.of(64, Duration.ofNanos(1_000_000_007)),
                new TokenBucket(10_000_000_000L, 1_999_999_999, Duration.ofSeconds(1)),
                TokenBucket.perSecond(10),
                Policies.all(TokenBucket.of(61, AWKWARD), Gcra.of(7, Duration.ofSeconds(3))),
                TokenBucket.of(61, AWKWARD).stepwise(),
                FixedWindow.of(61, AWKWARD),
                FixedWindow.of(61, AWKWARD).fromFirstRequest(),
                SlidingWindowLog.of(61, AWKWARD),
                SlidingWindowCounter.of(61, AWKWARD));
    }

    private static Decision tryAcquire(RateLimiter limiter, String key, long permits) {
        return limiter.tryAcquire(key, permits).block();
    }

    private void neverRunsOut(RateLimiter limiter) {
        long all = limiter.policy().capacity();
        List<String> keys = List.of("each year", "each 5 years", "each 8 years", "each 47 years", "each 80 years");
        for (int year = 0; year < 280; year++) {
            for (String key : keys) {
                int years = key.equals("each year") ? 1 : Integer.parseInt(key.split(" ")[1]);
                if (year % years == 0) {
                    Decision allowed = year == 0 ? null : tryAcquire(limiter, key, all);
                    assertThat(allowed == null || allowed.allowed())
                            .as("%s after %d years: %s", key, year, allowed)
                            .isTrue();
                    Decision denied = tryAcquire(limiter, key, all);
                    if (!denied.allowed()) {
                        assertThat(denied.retryAfter().orElseThrow())
                                .as("%s after %d years", key, year)
                                .isLessThan(Duration.ofMinutes(10));
                    }
                }
            }
            time.advance(YEAR.toNanos());
            time.runDue();
        }
    }

    @ParameterizedTest
    @MethodSource("policies")
    void localLimiterNeverRunsOut(RateLimitPolicy policy) {
        neverRunsOut(RateLimiter.builder(policy).scheduler(time).build());
    }

    static Stream<RateLimitPolicy> buckets() {
        return policies()
                .filter(policy -> policy instanceof Gcra
                        || policy instanceof TokenBucket bucket && bucket.style() == TokenBucket.Refill.CONTINUOUS)
                .filter(policy -> policy.capacity() < 1_000_000);
    }

    @ParameterizedTest
    @MethodSource("buckets")
    void sketchNeverRunsOut(RateLimitPolicy policy) {
        neverRunsOut(RateLimiter.builder(policy)
                .store(SketchStore.ofBytes(1 << 16))
                .scheduler(time)
                .build());
    }
}
