package io.github.reactorratelimit.local;

import static io.github.reactorratelimit.local.Tables.FULL;
import static io.github.reactorratelimit.local.Tables.KEY;
import static io.github.reactorratelimit.local.Tables.gcra;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.testing.Seeds;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

/** Threads on one key that becomes hot and cold all the time. The clock is a number that the test moves. */
class StripedTableRaceTest {

    private static final long INTERVAL = 10;
    private static final int STRIPES = 4;
    private static final long BATCH = 8;
    private static final long RESERVE = STRIPES * BATCH;
    private static final int THREADS = 4;

    private static final LongSupplier STANDING = () -> 0;

    private final List<Throwable> failures = new ArrayList<>();

    private static StripedTable table(long burst, LongSupplier clock) {
        return new StripedTable(Tables.of(gcra(INTERVAL, burst), 10), clock, key -> {}, STRIPES, BATCH);
    }

    private static boolean take(KeyTable table, long at, long permits) {
        return table.takePrepaid(KEY, permits) || table.tryDebit(KEY, at, permits) == 0;
    }

    private void inThreads(int count, Consumer<SplittableRandom> work) throws InterruptedException {
        SplittableRandom random = new SplittableRandom(Seeds.of("striped table"));
        CyclicBarrier start = new CyclicBarrier(count);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            SplittableRandom mine = random.split();
            threads.add(new Thread(() -> {
                try {
                    start.await();
                    work.accept(mine);
                } catch (Throwable failure) {
                    synchronized (failures) {
                        failures.add(failure);
                    }
                }
            }));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(failures).isEmpty();
    }

    /** No thread opens or closes the key on purpose: collisions do, and the end of the burst. */
    @RepeatedTest(5)
    void whileTimeStandsStillExactlyTheBurstIsAdmitted() throws InterruptedException {
        long burst = FULL ? 20_000_000 : 1_000_000;
        StripedTable table = table(burst, STANDING);
        AtomicLong admitted = new AtomicLong();
        inThreads(THREADS, random -> {
            long mine = 0;
            while (take(table, 0, 1)) {
                mine++;
            }
            admitted.addAndGet(mine);
        });
        while (take(table, 0, 1)) {
            admitted.incrementAndGet();
        }
        assertThat(admitted).hasValue(burst);
        assertThat(table.isHot(KEY)).isFalse();
    }

    /**
     * Everything at once, with the reserve spent before: so that nothing is lost when a key is closed in
     * the middle of something else.
     */
    @RepeatedTest(5)
    void whileTimeStandsStillNothingIsLostByOpeningAndClosing() throws InterruptedException {
        long burst = FULL ? 3_000_000 : 300_000;
        StripedTable table = table(burst, STANDING);
        table.tryDebit(KEY, 0, RESERVE);
        AtomicLong admitted = new AtomicLong(RESERVE);
        inThreads(THREADS, random -> {
            long mine = 0;
            for (boolean more = true; more; ) {
                long permits = 1;
                switch (random.nextInt(64)) {
                    case 0 -> table.open(KEY);
                    case 1 -> assertThat(table.read(KEY, 0, 1).remaining()).isBetween(0L, burst);
                    case 2 -> permits = 1 + random.nextInt(20);
                    case 3 -> {
                        if (table.debit(KEY, 0, 3).allowed()) {
                            table.refund(KEY, STANDING, 0, 3);
                        }
                    }
                    case 4 -> mine += table.debit(KEY, 0, 2).allowed() ? 2 : 0;
                    default -> {}
                }
                boolean taken = take(table, 0, permits);
                mine += taken ? permits : 0;
                more = taken || permits > 1;
            }
            admitted.addAndGet(mine);
        });
        while (take(table, 0, 1)) {
            admitted.incrementAndGet();
        }
        assertThat(admitted).hasValue(burst);
    }

    private record Grant(int after, int before, long permits) {}

    /**
     * The clock moves on, by jumps that let the reserve flow back or a part of it, while threads stand
     * anywhere. A grant lies between the readings before and after it. No window has more than its
     * share of those that lie in it for sure, whichever way they were made.
     */
    @RepeatedTest(20)
    void noWindowHasMoreThanThePolicyAllows() throws InterruptedException {
        long burst = 4 * RESERVE + 50;
        int jumps = FULL ? 4_000 : 1_000;
        long[] times = new long[jumps + 1];
        SplittableRandom lengths = new SplittableRandom(Seeds.of("jumps"));
        for (int i = 1; i <= jumps; i++) {
            times[i] = times[i - 1] + lengths.nextLong(lengths.nextInt(8) == 0 ? 2 * burst * INTERVAL : 400);
        }
        AtomicInteger step = new AtomicInteger();
        StripedTable table = table(burst, () -> times[step.get()]);
        List<Grant> grants = new ArrayList<>();
        inThreads(THREADS, random -> {
            List<Grant> mine = new ArrayList<>();
            for (int before = step.get(); before < jumps; before = step.get()) {
                long at = times[before];
                if (random.nextInt(16) == 0) {
                    step.compareAndSet(before, before + 1);
                }
                if (random.nextInt(32) == 0) {
                    table.open(KEY);
                }
                long permits = random.nextInt(8) == 0 ? 1 + random.nextInt(20) : 1;
                boolean taken = random.nextInt(32) == 0
                        ? table.debit(KEY, at, permits).allowed()
                        : take(table, random.nextBoolean() ? at : times[step.get()], permits);
                if (taken) {
                    mine.add(new Grant(before, step.get(), permits));
                }
            }
            synchronized (grants) {
                grants.addAll(mine);
            }
        });
        assertThat(worst(grants, times)).isLessThanOrEqualTo(burst);
    }

    /** The most that a window has beyond what flowed back in it. */
    private static long worst(List<Grant> grants, long[] times) {
        List<List<Grant>> byStart = new ArrayList<>();
        for (int i = 0; i < times.length; i++) {
            byStart.add(new ArrayList<>());
        }
        grants.forEach(grant -> byStart.get(grant.after).add(grant));
        long[] endingAt = new long[times.length];
        long worst = 0;
        for (int start = times.length - 1; start >= 0; start--) {
            byStart.get(start).forEach(grant -> endingAt[grant.before] += grant.permits);
            long sum = 0;
            for (int end = start; end < times.length; end++) {
                sum += endingAt[end];
                worst = Math.max(worst, sum - (times[end] - times[start]) / INTERVAL);
            }
        }
        return worst;
    }

    @Test
    void collisionsMakeAKeyHot() throws InterruptedException {
        long at = 1;
        assertThat(BusyKeys.isSample(at)).as("hot for another reason").isFalse();
        StripedTable table = table(100_000_000, () -> at);
        AtomicInteger hot = new AtomicInteger();
        inThreads(THREADS, random -> {
            for (int i = 0; i < 5_000_000 && hot.get() == 0; i++) {
                take(table, at, 1);
                if (table.isHot(KEY)) {
                    hot.incrementAndGet();
                }
            }
        });
        assertThat(hot).hasPositiveValue();
    }
}
