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
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Random histories of a key that nobody opens or closes on purpose: it becomes hot when it is asked for very often,
 * and cold when it is left alone, when little is left, or when somebody looks. Every permit given out would
 * have been given by the policy alone, applied to those given before: so no window W has more than capacity + rate
 * * W. Nobody is denied while more than the reserve is there.
 */
class BusyKeyModelTest {

    private static final int HISTORIES = FULL ? 500 : 15;
    private static final int PHASES = 40;
    private static final int STRIPES = 2;
    private static final long BATCH = 8;
    private static final long RESERVE = STRIPES * BATCH;
    private static final long BURST = 3_000;
    private static final long IDLE_NANOS = Duration.ofMillis(11).toNanos();

    private final ExecutorService otherThread = Executors.newSingleThreadExecutor();

    @AfterEach
    void endThread() {
        otherThread.shutdown();
    }

    /** Slower, about as fast, and faster than the asks. */
    static List<RateLimitPolicy> policies() {
        return List.of(
                gcra(1_000, BURST),
                gcra(30, BURST),
                TokenBucket.of(7, Duration.ofNanos(30)).withBurst(BURST),
                TokenBucket.of(101, Duration.ofNanos(10_130)).withBurst(BURST));
    }

    @ParameterizedTest
    @MethodSource("policies")
    void neverLaxerThanThePolicyAloneAndAllIsBackAfterQuietTime(RateLimitPolicy policy) throws Exception {
        Random random = new Random(Seeds.of("busy key model, " + policy));
        long opened = 0;
        long closed = 0;
        for (int i = 0; i < HISTORIES; i++) {
            History<?> history = new History<>(Algorithms.of(policy, Tables.CLOCK), random);
            history.run();
            opened += history.opened;
            closed += history.closed;
        }
        assertThat(opened).isGreaterThan(HISTORIES);
        assertThat(closed).isGreaterThan(HISTORIES);
    }

    private final class History<S> {

        private final Algorithm<S> alone;
        private final Random random;
        private final StripedTable table;
        private S state;
        private long now;
        private boolean hot;
        private long opened;
        private long closed;

        History(Algorithm<S> alone, Random random) {
            this.alone = alone;
            this.random = random;
            this.state = alone.fresh();
            this.table = new StripedTable(Tables.of(alone.policy(), 10), () -> now, key -> {}, STRIPES, BATCH);
        }

        void run() throws Exception {
            for (int i = 0; i < PHASES; i++) {
                switch (random.nextInt(6)) {
                    case 0 -> now += random.nextInt(random.nextBoolean() ? 5_000 : (int) (2 * IDLE_NANOS));
                    case 1 -> phase(random.nextInt(100), 20_000);
                    case 2 -> look();
                    default -> phase(random.nextInt(3_000), 1 + random.nextInt(60));
                }
            }
            allIsBackAfterQuietTime();
        }

        private void phase(int asks, int longestGapNanos) throws Exception {
            for (int i = 0; i < asks; i++) {
                now += random.nextInt(longestGapNanos);
                long permits = random.nextInt(50) == 0 ? 1 + random.nextInt(20) : 1;
                check(permits, random.nextInt(100) == 0 ? takeElsewhere(permits) : take(permits));
                count();
            }
        }

        private boolean take(long permits) {
            return table.takePrepaid(KEY, permits) || table.tryDebit(KEY, now, permits) == 0;
        }

        private boolean takeElsewhere(long permits) throws Exception {
            return otherThread.submit(() -> take(permits)).get();
        }

        private void look() {
            long remaining = alone.remaining(state, now);
            assertThat(table.read(KEY, now, 1).remaining()).isBetween(Math.max(0, remaining - RESERVE - 1), remaining);
            count();
        }

        private void count() {
            boolean isHot = table.isHot(KEY);
            opened += isHot && !hot ? 1 : 0;
            closed += hot && !isHot ? 1 : 0;
            hot = isHot;
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

        private void allIsBackAfterQuietTime() {
            now += IDLE_NANOS + 1_000 * BURST;
            long taken = 0;
            while (take(1)) {
                check(1, true);
                taken++;
            }
            assertThat(taken).isBetween(BURST - RESERVE, BURST);
            now += IDLE_NANOS + 1_000 * BURST;
            assertThat(table.read(KEY, now, 1).remaining()).isEqualTo(BURST);
        }
    }
}
