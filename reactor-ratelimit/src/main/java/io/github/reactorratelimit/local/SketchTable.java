package io.github.reactorratelimit.local;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.LongAlgorithm;
import io.github.reactorratelimit.algorithm.Projection;
import io.github.reactorratelimit.algorithm.Reading;
import io.github.reactorratelimit.algorithm.Spending;
import io.github.reactorratelimit.algorithm.Tick;
import java.util.List;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A count-min sketch of TATs: the time at which a key owes nothing any more. A key has one cell in each row, chosen
 * by a keyed hash, and shares it with others. Its state is the least of its cells.
 *
 * <p><b>What holds at any moment.</b> Every cell of a key is at least the key's own TAT, the one it would have
 * if its allowed debits were all there is. A debit is judged by a value that a cell of the key holds at that
 * moment. So it is allowed only if the key's own TAT allows it too: stricter, never laxer.
 *
 * <p><b>A debit without a lock.</b> It reads the cells, takes the least as the one that decides, and works out
 * the TAT that the debit leaves. First it raises the other cells to that TAT, one by one. Then it swaps the cell
 * that decides, by one CAS from the value it read: this is the moment of the debit. If the CAS succeeds, the
 * cell held that value just before, which was no less than the key's own TAT; and now every cell is at least
 * the new TAT, because the others were raised before and do not fall again. If it fails, another thread changed
 * the cell: nothing was taken, and it is tried again. The cells that were raised in vain stay so, to the
 * strict side. Two debits of one key cannot both succeed from one value of one cell; and from values of two
 * cells neither: the first to succeed had raised the cell of the other, whose CAS fails. A retry always
 * follows a step of another thread, and cells that rose far enough deny.
 *
 * <p><b>A key alone</b> is decided by its first cell only, which is never above the others, as it is raised last and
 * read first: exactly the CAS loop on one long of a store without sharing.
 *
 * <p><b>Refunds.</b> A cell may only fall if only the debit that comes back counts on what it holds. So every
 * debit leaves every one of its cells strictly higher: those that stand above its TAT already, by one part of a
 * tick. A refund swaps one cell, the one that decided, from exactly what the debit wrote to what is left without
 * it; that is no less than what the cell held before the debit. Who counts on a cell since a time {@code t} left
 * it at some {@code v}, higher than it found it. Say a refund were the first to take the cell below {@code v}. Its
 * debit was not after {@code t}: it found {@code v} or more, and leaves no less. Nor before: the cell did not
 * fall below what that debit wrote, so {@code v} is higher, and the cell is not back at what it wrote. So no
 * cell falls below what any key counts on. If the cell holds anything else, the refund is lost.
 */
final class SketchTable extends KeyTable {

    /**
     * Where a debit was decided and what it wrote there; owner of the {@code Debit} that carries it.
     * Written once, by the debit, before it is published.
     */
    static final class Mark {

        /** Owner of the debits of other tables. */
        final Object owner;

        private int cell;
        private long wrote;

        Mark(Object owner) {
            this.owner = owner;
        }
    }

    private final LongAlgorithm steps;
    private final long fresh;
    private final int columns;
    private final int rows;
    private final AtomicLongArray cells;
    private final KeyedHash hash = new KeyedHash();

    private SketchTable(LongAlgorithm steps, int columns, int rows) {
        this.steps = steps;
        this.fresh = steps.fresh();
        this.columns = columns;
        this.rows = rows;
        this.cells = new AtomicLongArray(columns * rows);
        for (int i = 0; i < columns * rows; i++) {
            cells.setPlain(i, fresh);
        }
    }

    static SketchTable of(RateLimitPolicy policy, int columns, int rows) {
        Algorithms.Clock clock = new Algorithms.Clock(Tick.NANOSECOND, 0, 0);
        LongAlgorithm steps = Algorithms.asRoundedLong(policy, clock)
                .orElseThrow(() -> new IllegalArgumentException("a SketchStore holds a Gcra or a TokenBucket with"
                        + " continuous refill, not " + policy + "; use a LocalStore"));
        return new SketchTable(steps, columns, rows);
    }

    /**
     * Takes permits as of {@code at}, or leaves the key as it is.
     *
     * @param mark where to note what a refund needs; null if nothing will be given back
     */
    boolean take(String key, long at, long permits, @Nullable Mark mark) {
        long hashed = hash.of(key);
        for (; ; ) {
            int decider = index(hashed, 0);
            long least = cells.get(decider);
            for (int row = 1; row < rows; row++) {
                int other = index(hashed, row);
                long seen = cells.get(other);
                if (isLater(least, seen, at)) {
                    decider = other;
                    least = seen;
                }
            }
            long next = steps.take(least, at, permits);
            if (next == LongAlgorithm.RESERVED) {
                return false;
            }
            raiseOthers(hashed, decider, next, at);
            if (cells.compareAndSet(decider, least, next)) {
                if (mark != null) {
                    mark.cell = decider;
                    mark.wrote = next;
                }
                return true;
            }
        }
    }

    private void raiseOthers(long hashed, int decider, long tat, long at) {
        for (int row = 0; row < rows; row++) {
            int other = index(hashed, row);
            if (other != decider) {
                raise(other, tat, at);
            }
        }
    }

    private void raise(int cell, long tat, long at) {
        long seen;
        do {
            seen = cells.get(cell);
        } while (!cells.compareAndSet(cell, seen, isLater(tat, seen, at) ? tat : seen + 1));
    }

    /** Gives back what a debit took; false if another key may count on it: then it is lost. */
    boolean giveBack(Mark mark, long now, long debitedAt, long permits) {
        long back = steps.refund(mark.wrote, now, debitedAt, permits);
        return !isLater(mark.wrote, back, now) || cells.compareAndSet(mark.cell, mark.wrote, back);
    }

    @Override
    boolean tryTake(String key, long at, long permits) {
        return take(key, at, permits, null);
    }

    @Override
    Reading debit(String key, long at, long permits) {
        return debit(key, at, permits, new Mark(this));
    }

    private Reading debit(String key, long at, long permits, Mark mark) {
        if (take(key, at, permits, mark)) {
            return steps.read(mark.wrote, at, 0);
        }
        Reading denied = read(key, at, permits);
        // A refund may have come since: as far as is known the caller may retry at once.
        return denied.allowed()
                ? new Reading(denied.policy(), denied.remaining(), 1, denied.resetTicks(), Algorithm.UNKNOWN)
                : denied;
    }

    @Override
    Decision debit(Object owner, RateLimitPolicy policy, String key, long at, long permits) {
        Mark mark = new Mark(owner);
        Reading reading = debit(key, at, permits, mark);
        return decision(reading, mark, policy, key, at, permits);
    }

    @Override
    boolean refund(Debit debit, LongSupplier clock) {
        return giveBack((Mark) debit.owner(), clock.getAsLong(), debit.atTick(), debit.permits());
    }

    /** Lost: only the mark of a debit says which cell may fall. */
    @Override
    void refund(String key, LongSupplier clock, long debitedAt, long permits) {}

    /** Other keys would owe a debt too, so there is none. */
    @Override
    long overdraw(String key, long now, long permits, long maxDebt) {
        if (maxDebt > 0) {
            throw new UnsupportedOperationException("a SketchStore cannot charge more than was reserved");
        }
        long charged;
        do {
            charged = Math.min(permits, steps.remaining(least(key, now), now));
        } while (charged > 0 && !take(key, now, charged, null));
        return permits - charged;
    }

    /** The cells belong to other keys too, so they stay as they are. */
    @Override
    List<Spending> spendAll(String key, long now) {
        return spent(key, now);
    }

    @Override
    List<Spending> spent(String key, long at) {
        return steps.spent(least(key, at), at);
    }

    /** Of no effect: the cells belong to other keys too. */
    @Override
    void reset(String key, LongSupplier clock) {}

    @Override
    Reading read(String key, long now, long permits) {
        return steps.read(least(key, now), now, permits);
    }

    @Override
    long waitTicks(String key, long at, long permits) {
        return steps.waitTicks(least(key, at), at, permits);
    }

    @Override
    Projection<?> projection(String key, long now) {
        return new Projection<>(steps, least(key, now), now);
    }

    @Override
    boolean mayBeReplaced() {
        return false;
    }

    private long least(String key, long now) {
        long hashed = hash.of(key);
        long least = cells.get(index(hashed, 0));
        for (int row = 1; row < rows; row++) {
            long seen = cells.get(index(hashed, row));
            least = isLater(least, seen, now) ? seen : least;
        }
        return least;
    }

    /** By difference, because times may wrap; a cell that was never used, or has expired, is before all others. */
    private boolean isLater(long state, long than, long at) {
        return !owesNothing(state, at) && (owesNothing(than, at) || state - than > 0);
    }

    private boolean owesNothing(long state, long at) {
        return state == fresh || steps.isExpired(state, at);
    }

    /** Two rows live on one hash of 64 bits, the next two on a hash of that. */
    private int index(long hashed, int row) {
        long bits = hashed;
        for (int pair = row >> 1; pair > 0; pair--) {
            bits = mix(bits);
        }
        long half = (row & 1) == 0 ? bits >>> 32 : bits & 0xffff_ffffL;
        return row * columns + (int) ((half * columns) >>> 32);
    }

    /** A bijection in which every bit depends on every other. */
    private static long mix(long bits) {
        long mixed = (bits ^ bits >>> 30) * 0xbf58476d1ce4e5b9L;
        mixed = (mixed ^ mixed >>> 27) * 0x94d049bb133111ebL;
        return mixed ^ mixed >>> 31;
    }
}
