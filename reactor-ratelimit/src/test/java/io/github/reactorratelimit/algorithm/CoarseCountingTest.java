package io.github.reactorratelimit.algorithm;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.algorithm.Algorithms.Clock;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Policies too large to be counted exactly are counted on the strict side, and closely. */
class CoarseCountingTest {

    private static final int HISTORIES = Boolean.getBoolean("ratelimit.tests.full") ? 1_000 : 250;

    record Case(RateLimitPolicy policy, Tick tick, long recoverTicks) {}

    static Stream<Case> cases() {
        Duration second = Duration.ofSeconds(1);
        Duration year = Duration.ofDays(366);
        return Stream.of(
                new Case(new TokenBucket(1L << 40, 999_983, second), Tick.NANOSECOND, 1_100_000_000_000_000L),
                new Case(new TokenBucket(1L << 52, 1_999_999_999, second), Tick.NANOSECOND, 2_250_000_000_000_000L),
                new Case(new TokenBucket(1L << 35, 999_983, second), Tick.MICROSECOND, 34_000_000_000L),
                new Case(SlidingWindowCounter.of(1L << 52, year), Tick.NANOSECOND, year.toNanos()),
                new Case(
                        SlidingWindowCounter.of((1L << 45) + 1, second.plusNanos(7)),
                        Tick.NANOSECOND,
                        second.toNanos()),
                new Case(SlidingWindowCounter.of(123_456_789, year), Tick.MICROSECOND, year.toNanos() / 1_000));
    }

    @ParameterizedTest
    @MethodSource("cases")
    void neverLaxerThanExactCountingAndCloseToIt(Case example) {
        long seed = Seeds.of("coarse " + example.policy);
        for (int i = 0; i < HISTORIES; i++) {
            Clock clock = new Clock(example.tick, 1_758_000_000_123_456L, 0);
            run(example, Algorithms.of(example.policy, clock), clock, new SplittableRandom(seed + i), seed + i);
        }
    }

    private static <S> void run(Case example, Algorithm<S> algorithm, Clock clock, SplittableRandom random, long seed) {
        ReferenceModel model = Scenario.model(example.policy, clock);
        long capacity = algorithm.capacity();
        S state = algorithm.fresh();
        long now = 0;
        for (int step = 0; step < 50; step++) {
            now += random.nextLong(example.recoverTicks / 8);
            long permits = 1 + random.nextLong(random.nextBoolean() ? capacity : capacity / 8);
            Object[] at = {example, seed, step};
            long wait = algorithm.waitTicks(state, now, permits);
            assertThat(wait)
                    .as("%s seed %d step %d", at)
                    .isGreaterThanOrEqualTo(model.allows(now, permits) ? 0 : model.retry(now, permits));
            if (wait == 0) {
                state = algorithm.debit(state, now, permits);
                model.debit(now, permits);
            } else {
                assertThat(algorithm.waitTicks(state, now + wait - 1, permits))
                        .as("%s seed %d step %d", at)
                        .isEqualTo(1);
                assertThat(algorithm.waitTicks(state, now + wait, permits))
                        .as("%s seed %d step %d", at)
                        .isZero();
            }
            long exact = model.remaining(now);
            assertThat(algorithm.remaining(state, now))
                    .as("%s seed %d step %d", at)
                    .isBetween(exact - closely(example, capacity, now), exact);
        }
    }

    /** The rate is kept to a thousandth: of all that flowed back until now so much may be missing, and as much of the capacity. */
    private static long closely(Case example, long capacity, long now) {
        double recoveries = (double) now / example.recoverTicks;
        return (long) (capacity * (1 + recoveries) / 1_000);
    }
}
