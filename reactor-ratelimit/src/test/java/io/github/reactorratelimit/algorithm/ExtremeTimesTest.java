package io.github.reactorratelimit.algorithm;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.WarmUp;
import io.github.reactorratelimit.algorithm.Algorithms.Clock;
import java.time.Duration;
import java.time.ZoneId;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Nothing overflows, whatever the clock shows and however large the policy is. */
class ExtremeTimesTest {

    private static final long MOST = 1L << 52;

    private static final List<Long> TIMES = List.of(
            Long.MIN_VALUE,
            Long.MIN_VALUE + 1,
            Long.MIN_VALUE + 10_000_000_000L,
            -(1L << 62),
            -1_758_000_000_123_456_789L,
            -1L,
            0L,
            1L,
            1_758_000_000_123_456_789L,
            1L << 62,
            Long.MAX_VALUE - 10_000_000_000L,
            Long.MAX_VALUE - 1,
            Long.MAX_VALUE);

    static Stream<RateLimitPolicy> policies() {
        Duration second = Duration.ofSeconds(1);
        return Stream.of(
                new TokenBucket(MOST, MOST, second),
                new TokenBucket(MOST, 1_999_999_999, second),
                new TokenBucket(MOST, MOST, second).withInitialTokens(0),
                new TokenBucket(MOST, MOST - 1, Duration.ofDays(365)),
                new TokenBucket(MOST, MOST, Duration.ofDays(366)).stepwise(),
                new TokenBucket(3, 1, Duration.ofDays(100)).stepwise(),
                TokenBucket.of(7, Duration.ofSeconds(3)),
                new Gcra(1, Duration.ofDays(366), 1),
                new Gcra(MOST, second, MOST),
                new LeakyBucket(MOST, second, MOST),
                new LeakyBucket(3, second, 10),
                WarmUp.of(MOST, second, Duration.ofDays(366)),
                WarmUp.of(3, Duration.ofDays(366), Duration.ofDays(366)),
                WarmUp.of(7, Duration.ofNanos(1_000), Duration.ofNanos(1_000)),
                FixedWindow.of(MOST, Duration.ofDays(366)),
                FixedWindow.of(10, second),
                FixedWindow.of(10, second).fromFirstRequest(),
                FixedWindow.daily(MOST, ZoneId.of("Pacific/Apia")),
                FixedWindow.monthly(MOST, ZoneId.of("Europe/Berlin")),
                SlidingWindowLog.of(10_000, Duration.ofDays(366)),
                SlidingWindowCounter.of(MOST, Duration.ofDays(366)),
                SlidingWindowCounter.of(10, second),
                ConcurrencyLimit.of(MOST),
                Policies.all(new TokenBucket(MOST, MOST, second), FixedWindow.of(MOST, second)));
    }

    @ParameterizedTest
    @MethodSource("policies")
    void everyAnswerIsInRangeAtEveryTime(RateLimitPolicy policy) {
        for (long offset : new long[] {0, 1_758_000_000_123_456_789L, -1_758_000_000_123_456_789L}) {
            Clock clock = new Clock(Tick.NANOSECOND, offset, 0);
            TIMES.forEach(from -> TIMES.forEach(to -> check(Algorithms.of(policy, clock), from, to)));
            TIMES.forEach(from ->
                    TIMES.forEach(to -> check(Algorithms.of(policy, clock).compact(), from, to)));
        }
    }

    private static <S> void check(Algorithm<S> algorithm, long from, long to) {
        long capacity = algorithm.capacity();
        S state = algorithm.fresh();
        inRange(algorithm, state, from);
        for (long permits : new long[] {capacity, 1, Math.max(1, capacity / 2)}) {
            if (algorithm.waitTicks(state, from, permits) == 0) {
                state = algorithm.debit(state, from, permits);
            }
            inRange(algorithm, state, from);
        }
        inRange(algorithm, state, to);
        S rebased = BackwardClock.rebase(algorithm, state, to);
        inRange(algorithm, rebased, to);
        inRange(algorithm, algorithm.refund(state, to, from, capacity), to);
        inRange(algorithm, algorithm.refund(rebased, to, from, 1), to);
        if (to >= 1L << 62) {
            assertThat(algorithm.remaining(algorithm.fresh(), to)).isEqualTo(algorithm.capacity());
        }
    }

    private static <S> void inRange(Algorithm<S> algorithm, S state, long now) {
        String at = algorithm.policy() + " at " + now;
        assertThat(algorithm.remaining(state, now)).as(at).isBetween(0L, algorithm.capacity());
        assertThat(algorithm.resetTicks(state, now)).as(at).isNotNegative();
        assertThat(algorithm.waitTicks(state, now, 1)).as(at).isNotNegative();
        assertThat(algorithm.waitTicks(state, now, algorithm.capacity())).as(at).isNotNegative();
    }

    @ParameterizedTest
    @MethodSource("policies")
    void wholeCapacityIsAllowedOnceAndDeniedTheSecondTime(RateLimitPolicy policy) {
        for (Tick tick : Tick.values()) {
            try {
                allowedOnce(Algorithms.of(policy, new Clock(tick, 0, -5_000_000_000L)));
            } catch (IllegalArgumentException refused) {
                assertThat(tick).isEqualTo(Tick.MICROSECOND);
            }
        }
    }

    private static <S> void allowedOnce(Algorithm<S> algorithm) {
        long now = 366L * 86_400 * 1_000_000_000;
        assertThat(algorithm.waitTicks(algorithm.fresh(), now, algorithm.capacity()))
                .isZero();
        S state = algorithm.debit(algorithm.fresh(), now, algorithm.capacity());
        assertThat(algorithm.remaining(state, now)).isZero();
        long wait = algorithm.waitTicks(state, now, algorithm.capacity());
        assertThat(wait).isPositive();
        if (wait != Algorithm.UNKNOWN) {
            assertThat(algorithm.waitTicks(state, now + wait - 1, algorithm.capacity()))
                    .isEqualTo(1);
            assertThat(algorithm.waitTicks(state, now + wait, algorithm.capacity()))
                    .isZero();
        }
    }
}
