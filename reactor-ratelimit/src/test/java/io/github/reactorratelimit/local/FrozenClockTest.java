package io.github.reactorratelimit.local;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
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
import io.github.reactorratelimit.algorithm.Algorithms;
import java.time.ZoneId;
import java.util.List;
import java.util.concurrent.Phaser;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Many threads, one key, time standing still: exactly the burst is admitted. Only debits race, so either
 * half of the acquires are debits or, where a burst cannot be that large, time stands still many times.
 */
class FrozenClockTest {

    private static final int THREADS = 64;
    private static final int ACQUIRES = Tables.FULL ? 10_000_000 : 2_000_000;
    private static final int HALF = ACQUIRES / 2;
    private static final int INSTANTS = 1_000;

    /** All recover in this time. */
    private static final long STEP_NANOS = 10_000_000_000L;

    static List<RateLimitPolicy> policiesWithLargeBursts() {
        return List.of(
                Gcra.perSecond(100).withBurst(HALF),
                TokenBucket.perSecond(300_000).withBurst(HALF),
                TokenBucket.of(1_000_003, ofSeconds(7)).withBurst(HALF),
                TokenBucket.perSecond(100).withBurst(ACQUIRES).withInitialTokens(HALF),
                TokenBucket.perMinute(100).withBurst(HALF).stepwise(),
                FixedWindow.of(HALF, ofSeconds(10)),
                FixedWindow.of(HALF, ofSeconds(10)).fromFirstRequest(),
                FixedWindow.monthly(HALF, ZoneId.of("Europe/Berlin")),
                SlidingWindowCounter.of(HALF, ofMillis(100)),
                ConcurrencyLimit.of(HALF),
                Policies.all(
                        FixedWindow.of(HALF, ofSeconds(1)).fromFirstRequest(),
                        TokenBucket.perSecond(90).withBurst(ACQUIRES).stepwise(),
                        SlidingWindowCounter.of(ACQUIRES, ofSeconds(1))));
    }

    static List<RateLimitPolicy> policiesWithSmallBursts() {
        return List.of(
                LeakyBucket.perSecond(1_000),
                TokenBucket.of(7, ofSeconds(3)),
                SlidingWindowLog.of(1_000, ofSeconds(1)),
                Policies.all(TokenBucket.perSecond(200), SlidingWindowLog.of(150, ofSeconds(1))));
    }

    @ParameterizedTest
    @MethodSource("policiesWithLargeBursts")
    void admitsExactlyTheBurst(RateLimitPolicy policy) throws InterruptedException {
        admitsTheBurstAtEachInstant(policy, 1);
    }

    @ParameterizedTest
    @MethodSource("policiesWithSmallBursts")
    void admitsExactlyTheBurstAtEachInstant(RateLimitPolicy policy) throws InterruptedException {
        admitsTheBurstAtEachInstant(policy, INSTANTS);
    }

    private static void admitsTheBurstAtEachInstant(RateLimitPolicy policy, int instants) throws InterruptedException {
        KeyTable table = Tables.of(policy, 10);
        AtomicLongArray admitted = new AtomicLongArray(instants);
        int perThread = (ACQUIRES + THREADS * instants - 1) / (THREADS * instants);
        Phaser meeting = new Phaser(THREADS);
        Thread[] threads = new Thread[THREADS];
        long began = System.nanoTime();
        for (int i = 0; i < THREADS; i++) {
            threads[i] = new Thread(() -> {
                for (int instant = 0; instant < instants; instant++) {
                    meeting.arriveAndAwaitAdvance();
                    admitted.addAndGet(instant, acquire(table, instant * STEP_NANOS, perThread));
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.printf(
                "%d instants, %d acquires by %d threads, %d ms: %s%n",
                instants,
                (long) perThread * THREADS * instants,
                THREADS,
                (System.nanoTime() - began) / 1_000_000,
                policy);
        for (int instant = 0; instant < instants; instant++) {
            assertThat(admitted.get(instant)).as("instant %d", instant).isEqualTo(burst(policy));
        }
    }

    private static long acquire(KeyTable table, long now, int times) {
        long admitted = 0;
        for (int i = 0; i < times; i++) {
            boolean withReading = (i & 15) == 0;
            boolean allowed = withReading
                    ? table.debit(Tables.KEY, now, 1).allowed()
                    : Tables.tryDebit(table, Tables.KEY, now, 1) == 0;
            admitted += allowed ? 1 : 0;
        }
        return admitted;
    }

    private static long burst(RateLimitPolicy policy) {
        if (policy instanceof LeakyBucket) {
            return 1;
        }
        return policy instanceof TokenBucket bucket ? bucket.initialTokens() : policy.capacity();
    }

    @Test
    void policiesOfBothKindsOfCellsAreAmongThem() {
        List<RateLimitPolicy> policies = Stream.concat(
                        policiesWithLargeBursts().stream(), policiesWithSmallBursts().stream())
                .toList();
        assertThat(policies).anyMatch(FrozenClockTest::isLong).anyMatch(policy -> !isLong(policy));
        assertThat(policies)
                .anyMatch(policy -> policy instanceof TokenBucket bucket
                        && bucket.style() == TokenBucket.Refill.CONTINUOUS
                        && !isLong(policy));
    }

    private static boolean isLong(RateLimitPolicy policy) {
        return Algorithms.asLong(policy, Tables.CLOCK).isPresent();
    }
}
