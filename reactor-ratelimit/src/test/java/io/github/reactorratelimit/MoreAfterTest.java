package io.github.reactorratelimit;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.test.scheduler.VirtualTimeScheduler;

/** {@link Decision#moreAfter()} is exact: then more can be had than now, and not a nanosecond earlier. */
class MoreAfterTest {

    private static final int ROUNDS = Boolean.getBoolean("ratelimit.tests.full") ? 20_000 : 300;

    static List<RateLimitPolicy> policies() {
        Duration window = Duration.ofSeconds(10);
        return List.of(
                TokenBucket.perSecond(7).withBurst(20),
                TokenBucket.perSecond(7).withBurst(20).stepwise(),
                Gcra.perSecond(7).withBurst(20),
                LeakyBucket.perSecond(7).withQueue(20),
                WarmUp.perSecond(7, Duration.ofSeconds(3)),
                FixedWindow.of(20, window),
                FixedWindow.of(20, window).fromFirstRequest(),
                SlidingWindowLog.of(20, window),
                SlidingWindowCounter.of(20, window),
                Policies.all(
                        FixedWindow.of(20, window), TokenBucket.perSecond(7).withBurst(20)),
                Policies.all(
                        TokenBucket.perSecond(7).withBurst(5),
                        SlidingWindowLog.of(20, window),
                        FixedWindow.of(9, window)));
    }

    @ParameterizedTest
    @MethodSource("policies")
    void thenMoreCanBeHadAndNotEarlier(RateLimitPolicy policy) {
        long seed = Seeds.of("more after, " + policy);
        SplittableRandom random = new SplittableRandom(seed);
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        RateLimiter limiter = RateLimiter.builder(policy).scheduler(time).build();
        int told = 0;
        for (int round = 0; round < ROUNDS; round++) {
            time.advanceTimeBy(
                    Duration.ofNanos(random.nextLong(1 + (random.nextBoolean() ? 300_000_000L : 4_000_000_000L))));
            long permits = 1 + random.nextLong(Math.min(4, policy.capacity()));
            Decision decision = limiter.tryAcquire("k", permits).block();
            if (!decision.allowed()) {
                assertThat(decision.moreAfter()).isEmpty();
                continue;
            }
            String told0 = "seed " + seed + ", round " + round + ": " + decision;
            Duration more = decision.moreAfter().orElseThrow(() -> new AssertionError(told0));
            time.advanceTimeBy(more.minusNanos(1));
            assertThat(limiter.peek("k").block().remaining()).as(told0).isEqualTo(decision.remaining());
            time.advanceTimeBy(Duration.ofNanos(1));
            assertThat(limiter.peek("k").block().remaining()).as(told0).isGreaterThan(decision.remaining());
            told++;
        }
        assertThat(told).as("seed " + seed).isPositive();
    }

    @Test
    void permitsInFlightComeBackWhenTheirHolderIsDone() {
        RateLimiter limiter = RateLimiter.of(ConcurrencyLimit.of(3));

        assertThat(limiter.acquireLease("k", 1, Duration.ZERO)
                        .block()
                        .decision()
                        .moreAfter())
                .isEmpty();
    }

    @Test
    void nothingIsAddedToAKeyThatSpentNothing() {
        RateLimiter limiter = RateLimiter.of(TokenBucket.perSecond(10));

        assertThat(limiter.peek("k").block().moreAfter()).isEmpty();
    }
}
