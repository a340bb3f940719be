package io.github.reactorratelimit.algorithm;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.CompositePolicy;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.WarmUp;
import io.github.reactorratelimit.algorithm.Algorithms.Clock;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.SplittableRandom;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

@Tag("slow")
class BackwardClockTest {

    private static final int HISTORIES = Boolean.getBoolean("ratelimit.tests.full") ? 20_000 : 5_000;

    @ParameterizedTest
    @EnumSource(mode = Mode.EXCLUDE, names = "CONCURRENCY_LIMIT")
    void refillsNothingAndLocksOutNoLongerThanPromised(Scenario.Kind kind) {
        long seed = Seeds.of("backward " + kind);
        for (int i = 0; i < HISTORIES; i++) {
            SplittableRandom random = new SplittableRandom(seed + i);
            Scenario scenario = kind.scenario(random);
            check(scenario, Algorithms.of(scenario.policy(), scenario.clock()), random);
            SplittableRandom again = random.split();
            refillsNothing(
                    scenario, Algorithms.of(scenario.policy(), scenario.clock()).compact(), again);
        }
    }

    /** A state and a time before it. */
    private record Jump<S>(S state, long to, long most, Supplier<String> text) {}

    private static <S> Jump<S> refillsNothing(Scenario scenario, Algorithm<S> algorithm, SplittableRandom random) {
        long now = scenario.startTick();
        S state = algorithm.fresh();
        for (int i = 0; i < 20; i++) {
            now += random.nextLong(scenario.stepTicks() + 1);
            long remaining = algorithm.remaining(state, now);
            if (remaining > 0) {
                state = algorithm.debit(state, now, 1 + random.nextLong(remaining));
            }
        }
        long most = algorithm.remaining(state, now);
        long back = random.nextBoolean() ? random.nextLong(2 * scenario.recoverTicks()) : random.nextLong(1L << 50);
        long earlier = now - back;
        Supplier<String> jump = () -> scenario + " back by " + back;
        assertThat(algorithm.remaining(state, earlier)).as(jump).isBetween(0L, most);
        return new Jump<>(state, earlier, most, jump);
    }

    private static <S> void check(Scenario scenario, Algorithm<S> algorithm, SplittableRandom random) {
        Jump<S> back = refillsNothing(scenario, algorithm, random);
        long earlier = back.to;
        Supplier<String> jump = back.text;
        S rebased = BackwardClock.rebase(algorithm, back.state, earlier);
        assertThat(algorithm.remaining(rebased, earlier)).as(jump).isBetween(0L, back.most);
        assertThat(algorithm.resetTicks(rebased, earlier))
                .as(jump)
                .isLessThanOrEqualTo(longestLockOut(scenario.policy(), scenario.clock()));
        long wait = algorithm.waitTicks(rebased, earlier, algorithm.capacity());
        assertThat(algorithm.waitTicks(rebased, earlier + wait, algorithm.capacity()))
                .as(jump)
                .isZero();
    }

    private static long longestLockOut(RateLimitPolicy policy, Clock clock) {
        Tick tick = clock.tick();
        if (policy instanceof TokenBucket bucket) {
            long period = tick.ticks("period", bucket.period());
            return bucket.style() == TokenBucket.Refill.STEPWISE
                    ? (bucket.capacity() / bucket.refill() + 2) * period
                    : bucket.capacity() * period / bucket.refill() + 1;
        } else if (policy instanceof WarmUp warmUp) {
            return tick.ticks("period", warmUp.period()) + 2 * tick.ticks("warmUp", warmUp.warmUp()) + 1;
        } else if (policy instanceof Gcra gcra) {
            return gcra.burst() * tick.ticks("period", gcra.period()) / gcra.permits() + 1;
        } else if (policy instanceof LeakyBucket leaky) {
            return leaky.queueCapacity() * tick.ticks("period", leaky.period()) / leaky.permits() + 2;
        } else if (policy instanceof FixedWindow window) {
            boolean calendar = window.alignment() instanceof FixedWindow.Alignment.Calendar;
            Duration clockChange = calendar ? Duration.ofHours(1) : Duration.ZERO;
            return 2 * tick.ticks("window", window.window().plus(clockChange));
        } else if (policy instanceof SlidingWindowLog log) {
            return 2 * tick.ticks("window", log.window());
        } else if (policy instanceof SlidingWindowCounter counter) {
            return 3 * tick.ticks("window", counter.window());
        }
        return ((CompositePolicy) policy)
                .parts().stream()
                        .mapToLong(part -> longestLockOut(part, clock))
                        .max()
                        .orElseThrow();
    }

    @Test
    void bucketThatFindsItsTimeFarAheadIsEmptyAndFillsInItsFillTime() {
        Algorithm<?> algorithm = Algorithms.of(TokenBucket.perSecond(10), new Clock(Tick.MICROSECOND, 0, 0));
        assertThat(remainingAfterJump(algorithm, 10_000_000_000L, 0)).isZero();
        assertThat(resetAfterJump(algorithm, 10_000_000_000L, 0)).isEqualTo(1_000_000);
    }

    @Test
    void bucketThatOwesNothingFarAheadIsEmptyAndFillsInItsFillTime() {
        DeficitAlgorithm bucket =
                (DeficitAlgorithm) Algorithms.of(TokenBucket.perSecond(10), new Clock(Tick.MICROSECOND, 0, 0));
        Deficit debited = bucket.debit(bucket.fresh(), 10_000_000_000L, 3);
        Deficit givenBack = bucket.refund(debited, 10_000_000_000L, 10_000_000_000L, 3);
        Deficit rebased = BackwardClock.rebase(bucket, givenBack, 0);
        assertThat(bucket.resetTicks(rebased, 0)).isEqualTo(1_000_000);
        assertThat(bucket.remaining(rebased, 1_000_000)).isEqualTo(10);
    }

    @Test
    void windowOneAheadIsKept() {
        FixedWindow policy = FixedWindow.of(10, Duration.ofSeconds(1));
        Algorithm<?> algorithm = Algorithms.of(policy, new Clock(Tick.MICROSECOND, 0, 0));
        assertThat(remainingAfterJump(algorithm, 5_000_000, 4_999_999)).isEqualTo(7);
        assertThat(resetAfterJump(algorithm, 5_000_000, 4_999_999)).isEqualTo(1_000_001);
        assertThat(resetAfterJump(algorithm, 5_000_000, 4_000_000)).isEqualTo(2_000_000);
    }

    @Test
    void windowFurtherAheadCountsInTheWindowOfNow() {
        FixedWindow policy = FixedWindow.of(10, Duration.ofSeconds(1));
        Algorithm<?> algorithm = Algorithms.of(policy, new Clock(Tick.MICROSECOND, 0, 0));
        assertThat(remainingAfterJump(algorithm, 5_000_000, 3_999_999)).isEqualTo(7);
        assertThat(resetAfterJump(algorithm, 5_000_000, 3_999_999)).isEqualTo(1);
    }

    @Test
    void logOfALateThreadIsStampedWithTheYoungestEntry() {
        LogAlgorithm log = new LogAlgorithm(SlidingWindowLog.of(2, Duration.ofNanos(100)), 100);
        PermitLog state = log.debit(log.debit(log.fresh(), 1_000, 1), 990, 1);
        assertThat(log.waitTicks(state, 990, 1)).isEqualTo(110);
        assertThat(log.remaining(state, 1_099)).isZero();
        assertThat(log.remaining(state, 1_100)).isEqualTo(2);
        assertThat(log.refund(state, 990, 990, 1))
                .as("moved stamp: nothing comes back")
                .isSameAs(state);
    }

    @Test
    void logEntryThatExpiredBeforeADebitStaysGoneWhenTheDebitIsGivenBack() {
        LogAlgorithm log = new LogAlgorithm(SlidingWindowLog.of(5, Duration.ofNanos(100)), 100);
        PermitLog state = log.debit(log.debit(log.debit(log.fresh(), 0, 1), 60, 1), 110, 1);
        PermitLog givenBack = log.refund(state, 110, 110, 1);
        assertThat(log.remaining(givenBack, 70)).isEqualTo(4);
    }

    @Test
    void logFarAheadCountsFromNow() {
        LogAlgorithm log = new LogAlgorithm(SlidingWindowLog.of(5, Duration.ofNanos(100)), 100);
        PermitLog state = log.debit(log.debit(log.fresh(), 1_000, 1), 1_050, 2);
        PermitLog rebased = BackwardClock.rebase(log, state, 500);
        assertThat(log.remaining(rebased, 500)).isEqualTo(2);
        assertThat(log.resetTicks(rebased, 500)).isEqualTo(100);
    }

    @Test
    void counterFarAheadCountsAllInTheWindowOfNow() {
        SlidingWindowCounter policy = SlidingWindowCounter.of(10, Duration.ofNanos(1_000));
        Algorithm<?> algorithm = Algorithms.of(policy, new Clock(Tick.NANOSECOND, 0, 0));
        assertThat(remainingAfterJump(algorithm, 50_000, 999)).isEqualTo(7);
        assertThat(resetAfterJump(algorithm, 50_000, 999)).isEqualTo(1 + 667);
    }

    private static <S> long remainingAfterJump(Algorithm<S> algorithm, long from, long to) {
        S state = algorithm.debit(algorithm.fresh(), from, 3);
        return algorithm.remaining(BackwardClock.rebase(algorithm, state, to), to);
    }

    private static <S> long resetAfterJump(Algorithm<S> algorithm, long from, long to) {
        S state = algorithm.debit(algorithm.fresh(), from, 3);
        return algorithm.resetTicks(BackwardClock.rebase(algorithm, state, to), to);
    }
}
