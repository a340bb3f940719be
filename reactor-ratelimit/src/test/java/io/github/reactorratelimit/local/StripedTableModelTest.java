package io.github.reactorratelimit.local;

import static io.github.reactorratelimit.local.Tables.FULL;
import static io.github.reactorratelimit.local.Tables.KEY;
import static io.github.reactorratelimit.local.Tables.gcra;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Random histories on one key, by threads that take turns, each with its stripe: never allowed what the
 * policy alone, applied to the same debits, would deny; never denied more than the reserve before it.
 */
class StripedTableModelTest {

    private static final int HISTORIES = FULL ? 5_000 : 100;
    private static final int STEPS = 200;
    private static final int THREADS = 3;
    private static final int STRIPES = 4;
    private static final long BATCH = 8;
    private static final long RESERVE = STRIPES * BATCH;
    private static final long BURST = 300;

    private final List<ExecutorService> threads = new ArrayList<>();

    StripedTableModelTest() {
        for (int i = 0; i < THREADS; i++) {
            threads.add(Executors.newSingleThreadExecutor());
        }
    }

    @AfterEach
    void endThreads() {
        threads.forEach(ExecutorService::shutdown);
    }

    /** States in a long, in an object, and with a start that is not full. */
    static List<RateLimitPolicy> policies() {
        return List.of(
                gcra(10, BURST),
                TokenBucket.of(7, Duration.ofNanos(30)).withBurst(BURST),
                TokenBucket.of(101, Duration.ofNanos(1_013)).withBurst(BURST),
                TokenBucket.of(1, Duration.ofNanos(10)).withBurst(BURST).withInitialTokens(200));
    }

    @ParameterizedTest
    @MethodSource("policies")
    void neverLaxerThanThePolicyAloneAndHardlyStricter(RateLimitPolicy policy) throws Exception {
        Random random = new Random(Seeds.of("striped table model, " + policy));
        long stepsWhileHot = 0;
        for (int i = 0; i < HISTORIES; i++) {
            stepsWhileHot += new History<>(Algorithms.of(policy, Tables.CLOCK), random).run();
        }
        assertThat(stepsWhileHot).isGreaterThan(HISTORIES * STEPS / 10L);
    }

    private record Taken(long at, long permits) {}

    private final class History<S> {

        private final Algorithm<S> alone;
        private final Random random;
        private final StripedTable table;
        private final List<Taken> refundable = new ArrayList<>();
        private S state;
        private long now;

        History(Algorithm<S> alone, Random random) {
            this.alone = alone;
            this.random = random;
            this.state = alone.fresh();
            this.table = new StripedTable(Tables.of(alone.policy(), 10), () -> now, key -> {}, STRIPES, BATCH);
        }

        long run() throws Exception {
            long hot = 0;
            for (int i = 0; i < STEPS; i++) {
                now += random.nextInt(4) == 0 ? random.nextInt(random.nextInt(8) == 0 ? 4_000 : 100) : 0;
                hot += table.isHot(KEY) ? 1 : 0;
                step(random.nextInt(40));
            }
            return hot;
        }

        private void step(int dice) throws Exception {
            switch (dice) {
                case 0 -> read();
                case 1, 2, 3, 4 -> table.open(KEY);
                case 5 -> debit(1 + random.nextInt(10));
                case 6 -> refund();
                case 7 -> reset();
                default -> take(random.nextInt(4) == 0 ? 1 + random.nextInt(30) : 1 + random.nextInt(3));
            }
        }

        private void take(long permits) throws Exception {
            Callable<Boolean> asking = () -> table.takePrepaid(KEY, permits) || table.tryDebit(KEY, now, permits) == 0;
            check(permits, threads.get(random.nextInt(THREADS)).submit(asking).get());
        }

        private void debit(long permits) {
            boolean allowed = table.debit(KEY, now, permits).allowed();
            check(permits, allowed);
            if (allowed) {
                refundable.add(new Taken(now, permits));
            }
        }

        private void check(long permits, boolean allowed) {
            long remaining = alone.remaining(state, now);
            if (allowed) {
                assertThat(permits).as("allowed at %d", now).isLessThanOrEqualTo(remaining);
                state = alone.debit(state, now, permits);
            } else {
                assertThat(permits).as("denied at %d", now).isGreaterThanOrEqualTo(remaining - RESERVE);
            }
        }

        private void read() {
            long remaining = alone.remaining(state, now);
            assertThat(table.read(KEY, now, 1).remaining()).isBetween(Math.max(0, remaining - RESERVE - 1), remaining);
        }

        private void refund() {
            if (!refundable.isEmpty()) {
                Taken back = refundable.remove(random.nextInt(refundable.size()));
                table.refund(KEY, () -> now, back.at, back.permits);
                state = alone.refund(state, now, back.at, back.permits);
            }
        }

        private void reset() {
            table.reset(KEY, () -> now);
            state = alone.fresh();
            refundable.clear();
        }
    }
}
