package io.github.reactorratelimit.local;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.algorithm.Algorithms;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Many threads, one key, time standing still: exactly the burst is admitted. */
class FrozenClockTest {

    private static final int THREADS = 64;
    private static final int ACQUIRES = 10_000_000;
    private static final long NOW = 1_234;

    static List<RateLimitPolicy> policies() {
        return Tables.policies();
    }

    @ParameterizedTest
    @MethodSource("policies")
    void admitsExactlyTheBurst(RateLimitPolicy policy) throws InterruptedException {
        KeyTable table = Tables.of(policy, 10);
        LongAdder admitted = new LongAdder();
        CountDownLatch start = new CountDownLatch(THREADS);
        Thread[] threads = new Thread[THREADS];
        long began = System.nanoTime();
        for (int i = 0; i < THREADS; i++) {
            threads[i] = new Thread(() -> admitted.add(acquire(table, start)));
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.printf(
                "%d acquires by %d threads, %d admitted, %d ms: %s%n",
                ACQUIRES / THREADS * THREADS, THREADS, admitted.sum(), (System.nanoTime() - began) / 1_000_000, policy);
        assertThat(admitted.sum()).isEqualTo(burst(policy));
    }

    private static long acquire(KeyTable table, CountDownLatch start) {
        start.countDown();
        try {
            start.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        long admitted = 0;
        for (int i = 0; i < ACQUIRES / THREADS; i++) {
            boolean withReading = (i & 15) == 0;
            boolean allowed =
                    withReading ? table.debit(Tables.KEY, NOW, 1).allowed() : table.tryDebit(Tables.KEY, NOW, 1) == 0;
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
        assertThat(policies()).anyMatch(FrozenClockTest::isLong).anyMatch(policy -> !isLong(policy));
        assertThat(policies())
                .anyMatch(policy -> policy instanceof TokenBucket bucket
                        && bucket.style() == TokenBucket.Refill.CONTINUOUS
                        && !isLong(policy));
    }

    private static boolean isLong(RateLimitPolicy policy) {
        return Algorithms.asLong(policy, Tables.CLOCK).isPresent();
    }
}
