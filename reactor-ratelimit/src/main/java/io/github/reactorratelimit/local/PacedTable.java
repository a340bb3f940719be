package io.github.reactorratelimit.local;

import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A table of leaky buckets that keep their beat though the limiter is late.
 *
 * <p>A stream asks for its next permit when it has been given the one before. That is later than the slot, by
 * the lateness of the timer and of the thread that tells it: say the slot was S, and it was told at D. If that
 * takes longer than an interval, the bucket is empty when the stream asks at A, and a new slot at A would lose
 * A - S - interval for ever. But the stream is not to blame if {@code A - D} is at most an interval: told in
 * time, it would have asked before the next slot. So it gets that slot, S + interval, although it has
 * passed, and leaves at once. It is late itself then, by less, and so on until the beat is caught up.
 *
 * <p><b>What is promised stays.</b> The next slot is where the state says that nothing is owed any more: slots are
 * never closer than an interval. Whether a request is allowed does not change, only as of when it is
 * counted, and never later than it came. A request that comes more than an interval after the last one was
 * told starts afresh: idle time earns nothing. Nor is anything counted as of more than {@link
 * #MOST_LATE_NANOS} ago: after a long halt at most so much is made up for.
 *
 * <p><b>What is kept.</b> For the last late one of a key: its slot, when it was told, and how far away the next
 * slot was. If that has changed since, somebody else was counted, or permits came back, or the key was reset
 * or forgotten: then it says nothing any more. So it needs no care to be right, and may be lost at any
 * time, to the strict side: keys share a fixed number of cells, the last one wins, races are not settled.
 */
final class PacedTable extends WrappedTable {

    /** A few times what a garbage collection or a busy machine takes away at once. */
    static final long MOST_LATE_NANOS = 20_000_000;

    private static final int CELLS = 256;

    /**
     * A grant that was told late.
     *
     * @param nextTicks from {@code slot} to the next one
     */
    private record Late(String key, long slot, long toldAt, long nextTicks) {}

    private final AtomicReferenceArray<@Nullable Late> cells = new AtomicReferenceArray<>(CELLS);

    private PacedTable(KeyTable table) {
        super(table);
    }

    /** The table with a beat to keep, or just the table if the policy has none. */
    static KeyTable over(KeyTable table, RateLimitPolicy policy) {
        return policy instanceof LeakyBucket bucket && !bucket.strict() ? new PacedTable(table) : table;
    }

    @Override
    long arrival(String key, long now) {
        Late late = cells.get(cell(key));
        if (late == null || now - late.toldAt > late.nextTicks || !late.key.equals(key)) {
            return now;
        }
        boolean same = table.waitTicks(key, late.slot, 1) == late.nextTicks;
        return same ? Math.min(now, Math.max(late.slot + late.nextTicks, now - MOST_LATE_NANOS)) : now;
    }

    @Override
    void told(String key, long slot, LongSupplier clock) {
        long now = clock.getAsLong();
        if (now > slot) {
            note(key, slot, now);
        }
    }

    private void note(String key, long slot, long now) {
        int cell = cell(key);
        Late before = cells.get(cell);
        if (before == null || before.slot < slot || !before.key.equals(key)) {
            cells.set(cell, new Late(key, slot, now, table.waitTicks(key, slot, 1)));
        }
    }

    @Override
    void startAfresh(String key) {
        cells.set(cell(key), null);
    }

    private static int cell(String key) {
        int hash = key.hashCode();
        return (hash ^ hash >>> 16) & CELLS - 1;
    }

    @Override
    long tryDebit(String key, long at, long permits) {
        long slot = arrival(key, at);
        if (slot < at && table.tryDebit(key, slot, permits) == 0) {
            note(key, slot, at);
            return 0;
        }
        return table.tryDebit(key, at, permits);
    }
}
