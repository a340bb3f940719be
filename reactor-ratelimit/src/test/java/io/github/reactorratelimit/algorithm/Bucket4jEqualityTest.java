package io.github.reactorratelimit.algorithm;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.bucket4j.Bucket;
import io.github.bucket4j.ConsumptionProbe;
import io.github.bucket4j.TimeMeter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.algorithm.Algorithms.Clock;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Token buckets decide as Bucket4j's do, at every step. */
class Bucket4jEqualityTest {

    private static final int HISTORIES = Boolean.getBoolean("ratelimit.tests.full") ? 200_000 : 10_000;
    private static final int STEPS = 50;

    private static final class DrivenClock implements TimeMeter {
        private long nanos;

        @Override
        public long currentTimeNanos() {
            return nanos;
        }

        @Override
        public boolean isWallClockBased() {
            return false;
        }
    }

    private long decisions;
    private long denials;

    @Test
    void continuousRefillDecidesLikeGreedyRefill() {
        long seed = Seeds.of("Bucket4j greedy");
        for (int i = 0; i < HISTORIES; i++) {
            SplittableRandom random = new SplittableRandom(seed + i);
            TokenBucket policy = policy(random);
            Algorithm<?> algorithm = Algorithms.of(policy, new Clock(Tick.NANOSECOND, 0, 0));
            greedy(algorithm, policy, random, seed + i);
        }
        report();
    }

    private <S> void greedy(Algorithm<S> algorithm, TokenBucket policy, SplittableRandom random, long seed) {
        DrivenClock clock = new DrivenClock();
        Bucket bucket = Bucket.builder()
                .withCustomTimePrecision(clock)
                .addLimit(limit -> limit.capacity(policy.capacity())
                        .refillGreedy(policy.refill(), policy.period())
                        .initialTokens(policy.initialTokens()))
                .build();
        S state = algorithm.fresh();
        long retryAt = 0;
        for (int i = 0; i < STEPS; i++) {
            clock.nanos = next(clock.nanos, retryAt, policy, random);
            long permits = 1 + random.nextLong(policy.capacity());
            long wait = algorithm.waitTicks(state, clock.nanos, permits);
            ConsumptionProbe probe = bucket.tryConsumeAndReturnRemaining(permits);
            assertThat(wait == 0).as("%s seed %d step %d", policy, seed, i).isEqualTo(probe.isConsumed());
            if (wait == 0) {
                state = algorithm.debit(state, clock.nanos, permits);
            } else {
                retryAt = clock.nanos + wait;
            }
            assertThat(algorithm.remaining(state, clock.nanos))
                    .as("%s seed %d step %d", policy, seed, i)
                    .isEqualTo(probe.getRemainingTokens());
            count(wait);
        }
    }

    @Test
    void stepwiseRefillDecidesLikeIntervalRefillWhoseGridStartsWhenAFullBucketIsTouched() {
        long seed = Seeds.of("Bucket4j intervally");
        for (int i = 0; i < HISTORIES; i++) {
            SplittableRandom random = new SplittableRandom(seed + i);
            TokenBucket policy = policy(random).withInitialTokens(1);
            policy = new TokenBucket(policy.capacity(), policy.refill(), policy.period()).stepwise();
            Algorithm<?> algorithm = Algorithms.of(policy, new Clock(Tick.NANOSECOND, 0, 0));
            intervally(algorithm, policy, random, seed + i);
        }
        report();
    }

    /** Bucket4j keeps its grid when the bucket is full; ours starts anew, as a bucket built at that moment does. */
    private <S> void intervally(Algorithm<S> algorithm, TokenBucket policy, SplittableRandom random, long seed) {
        DrivenClock clock = new DrivenClock();
        Bucket bucket = interval(policy, clock);
        S state = algorithm.fresh();
        long retryAt = 0;
        for (int i = 0; i < STEPS; i++) {
            clock.nanos = next(clock.nanos, retryAt, policy, random);
            if (bucket.getAvailableTokens() == policy.capacity()) {
                bucket = interval(policy, clock);
            }
            long permits = 1 + random.nextLong(policy.capacity());
            long wait = algorithm.waitTicks(state, clock.nanos, permits);
            assertThat(wait == 0).as("%s seed %d step %d", policy, seed, i).isEqualTo(bucket.tryConsume(permits));
            if (wait == 0) {
                state = algorithm.debit(state, clock.nanos, permits);
            } else {
                retryAt = clock.nanos + wait;
            }
            assertThat(algorithm.remaining(state, clock.nanos))
                    .as("%s seed %d step %d", policy, seed, i)
                    .isEqualTo(bucket.getAvailableTokens());
            count(wait);
        }
    }

    private static Bucket interval(TokenBucket policy, DrivenClock clock) {
        return Bucket.builder()
                .withCustomTimePrecision(clock)
                .addLimit(limit -> limit.capacity(policy.capacity()).refillIntervally(policy.refill(), policy.period()))
                .build();
    }

    private void count(long wait) {
        decisions++;
        denials += wait == 0 ? 0 : 1;
    }

    private void report() {
        double denied = 100.0 * denials / decisions;
        System.out.printf("%d decisions equal to Bucket4j's, %.1f %% denied%n", decisions, denied);
        assertThat(decisions).isEqualTo((long) HISTORIES * STEPS);
        assertThat(denied).isGreaterThan(20);
    }

    private static TokenBucket policy(SplittableRandom random) {
        while (true) {
            long capacity = 1 + random.nextInt(20);
            Duration period = Duration.ofNanos(
                    random.nextBoolean() ? 1 + random.nextInt(100) : 1 + random.nextLong(10_000_000_000L));
            // Bucket4j refuses more than one token per nanosecond.
            long refill = 1 + random.nextLong(Math.min(30, period.toNanos()));
            TokenBucket policy =
                    new TokenBucket(capacity, refill, period).withInitialTokens(random.nextLong(capacity + 1));
            try {
                Algorithms.of(policy, new Clock(Tick.NANOSECOND, 0, 0));
                return policy;
            } catch (IllegalArgumentException refused) {
                continue;
            }
        }
    }

    private static long next(long now, long retryAt, TokenBucket policy, SplittableRandom random) {
        if (retryAt > now && random.nextInt(3) > 0) {
            return retryAt - random.nextInt(2);
        }
        return now + random.nextLong(1 + policy.period().toNanos() * 2 / policy.refill());
    }
}
