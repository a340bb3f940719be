package io.github.reactorratelimit.local;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** Millions of keys through a table of a hundred thousand, with some thousand keys watched. */
class KeyFloodTest {

    private static final int MAX_KEYS = 100_000;
    private static final int KEYS = 10_000_000;
    private static final int WATCHED = 4_000;
    private static final int HOT = 100;

    /** A table's entry and its key are some hundred bytes, the overflow cells two megabytes. */
    private static final long MAX_GROWTH_BYTES = 60L << 20;

    private static final Gcra GCRA = Gcra.of(1, Duration.ofMillis(100)).withBurst(3);
    private static final SlidingWindowLog LOG = SlidingWindowLog.of(3, Duration.ofMillis(300));

    @Test
    void tableStaysBoundedAndNoKeyGetsOverItsRate() throws InterruptedException {
        flood(GCRA, () -> new RateModel(100_000_000, 3), 1, Tables.FULL ? KEYS : KEYS / 10);
    }

    @Test
    void tableStaysBoundedAndNoKeyGetsOverItsRateWithManyThreads() throws InterruptedException {
        flood(GCRA, () -> new RateModel(100_000_000, 3), 8, Tables.FULL ? KEYS : KEYS / 4);
    }

    @Test
    void tableStaysBoundedAndNoKeyGetsOverItsLogWithManyThreads() throws InterruptedException {
        flood(LOG, () -> new LogModel(300_000_000, 3), 4, Tables.FULL ? KEYS : KEYS / 10);
    }

    /**
     * What the grants of one key must obey, computed without the library. A grant is known to lie between
     * the clock readings before and after the call.
     */
    private interface Model {

        /** Whether a grant in that time can be within the limit; then it is counted as early as possible. */
        boolean grant(long before, long after);
    }

    private static final class RateModel implements Model {

        private final long interval;
        private final long burst;
        private long allPaidAt;

        RateModel(long interval, long burst) {
            this.interval = interval;
            this.burst = burst;
        }

        @Override
        public boolean grant(long before, long after) {
            boolean within = allPaidAt - after <= (burst - 1) * interval;
            allPaidAt = Math.max(allPaidAt, before) + interval;
            return within;
        }
    }

    private static final class LogModel implements Model {

        private final long window;
        private final int limit;
        private final ArrayDeque<Long> grants = new ArrayDeque<>();

        LogModel(long window, int limit) {
            this.window = window;
            this.limit = limit;
        }

        @Override
        public boolean grant(long before, long after) {
            grants.removeIf(each -> each + window <= after);
            grants.add(before);
            return grants.size() <= limit;
        }
    }

    private static void flood(RateLimitPolicy policy, Supplier<Model> models, int threads, int keys)
            throws InterruptedException {
        Random random = new Random(Seeds.of("key flood"));
        KeyTable table = Tables.of(policy, MAX_KEYS);
        AtomicLong clock = new AtomicLong();
        AtomicReference<Throwable> failure = new AtomicReference<>();
        long heapBefore = usedHeap();
        long began = System.nanoTime();
        List<Flooder> flooders = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            Flooder flooder = new Flooder(table, clock, models, i, keys / threads, new Random(random.nextLong()));
            flooder.setUncaughtExceptionHandler((thread, thrown) -> failure.set(thrown));
            flooder.start();
            flooders.add(flooder);
        }
        for (Flooder flooder : flooders) {
            flooder.join();
        }
        long millis = (System.nanoTime() - began) / 1_000_000;
        long growth = usedHeap() - heapBefore;
        long granted = flooders.stream().mapToLong(each -> each.granted).sum();
        long asked = flooders.stream().mapToLong(each -> each.asked).sum();
        System.out.printf(
                "%d keys by %d threads in %d ms: %d in the table, heap grew by %d KiB; watched: %d of %d granted%n",
                keys, threads, millis, Tables.cells(table).size(), growth >> 10, granted, asked);
        assertThat(failure.get()).isNull();
        assertThat(granted).isBetween(asked / 20, asked * 19 / 20);
        assertThat(Tables.cells(table).size()).isBetween(MAX_KEYS / 2, MAX_KEYS);
        assertThat(growth).isLessThan(MAX_GROWTH_BYTES);
    }

    private static long usedHeap() {
        for (int i = 0; i < 3; i++) {
            System.gc();
        }
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    /** Floods with keys of its own; a tenth of its asks are for its share of the watched keys, most of them for the hot. */
    private static final class Flooder extends Thread {

        private final KeyTable table;
        private final AtomicLong clock;
        private final int number;
        private final int keys;
        private final Random random;
        private final Model[] watched = new Model[WATCHED];
        private long granted;
        private long asked;

        Flooder(KeyTable table, AtomicLong clock, Supplier<Model> models, int number, int keys, Random random) {
            this.table = table;
            this.clock = clock;
            this.number = number;
            this.keys = keys;
            this.random = random;
            for (int i = 0; i < WATCHED; i++) {
                watched[i] = models.get();
            }
        }

        @Override
        public void run() {
            int nanosPerKey = 600;
            for (int i = 0; i < keys; i++) {
                if (i % 100_000 == 0) {
                    nanosPerKey = 200 + random.nextInt(1_500);
                }
                Tables.tryDebit(table, "flood" + number + '-' + i, clock.addAndGet(nanosPerKey), 1);
                if (i % 10 == 0) {
                    watch(random.nextInt(4) > 0 ? random.nextInt(HOT) : random.nextInt(WATCHED));
                    if (Tables.cells(table).size() > MAX_KEYS) {
                        throw new AssertionError(Tables.cells(table).size() + " keys in the table");
                    }
                }
            }
        }

        private void watch(int index) {
            long before = clock.get();
            boolean allowed = Tables.tryDebit(table, "watched" + number + '-' + index, before, 1) == 0;
            asked++;
            if (allowed) {
                granted++;
                if (!watched[index].grant(before, clock.get())) {
                    throw new AssertionError("watched key " + index + " let over its limit at " + before);
                }
            }
        }
    }
}
