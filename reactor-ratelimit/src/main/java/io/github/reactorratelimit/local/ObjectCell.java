package io.github.reactorratelimit.local;

import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Spending;
import java.util.List;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * A cell whose state is an object.
 *
 * @param <S> the state
 */
final class ObjectCell<S> extends Cell<S> {

    private static final Object DEAD = new Object();

    @SuppressWarnings("rawtypes")
    private static final AtomicReferenceFieldUpdater<ObjectCell, Object> STATE =
            AtomicReferenceFieldUpdater.newUpdater(ObjectCell.class, Object.class, "state");

    @SuppressWarnings("rawtypes")
    private static final AtomicLongFieldUpdater<ObjectCell> LAST_DEBIT =
            AtomicLongFieldUpdater.newUpdater(ObjectCell.class, "lastDebit");

    @SuppressWarnings("rawtypes")
    private static final AtomicLongFieldUpdater<ObjectCell> BORN_AT =
            AtomicLongFieldUpdater.newUpdater(ObjectCell.class, "bornAt");

    /** Null while the cell is entering, {@link #DEAD} in the end. */
    private volatile @Nullable Object state;

    /** The horizon when the cell began: it may stand for a key that was evicted as of then. */
    private volatile long bornAt = Long.MIN_VALUE;

    /**
     * No debit was made after this time; kept only where a margin needs it. A refund may leave a state that says nothing
     * about the debits before.
     */
    private volatile long lastDebit = Long.MIN_VALUE;

    /** Whether the state is, or was, that of several keys. */
    private volatile boolean isShared;

    ObjectCell(String key, int hash) {
        super(key, hash);
    }

    /** An overflow cell, which is entering. */
    static <S> ObjectCell<S> overflow(String key, int hash) {
        ObjectCell<S> cell = new ObjectCell<>(key, hash);
        cell.isShared = true;
        return cell;
    }

    /** If several threads begin a cell, the strictest values of all count, whose state does. */
    @Override
    void begin(Shared<S> shared, Cell<S> start) {
        ObjectCell<S> from = (ObjectCell<S>) start;
        if (from.isShared) {
            isShared = true;
        }
        begin(shared, from.stateOrFresh(shared), from.lastDebit);
    }

    private void begin(Shared<S> shared, S start, long startLastDebit) {
        BORN_AT.accumulateAndGet(this, shared.horizon.horizon(), Math::max);
        LAST_DEBIT.accumulateAndGet(this, startLastDebit, Math::max);
        STATE.compareAndSet(this, null, start);
    }

    @Override
    ObjectCell<S> owing(Shared<S> shared, long at, List<Spending> spent) {
        ObjectCell<S> owing = new ObjectCell<>(key, hash);
        owing.isShared = isShared;
        owing.begin(shared, steps(shared).owing(stateOrFresh(shared), at, spent), Math.max(lastDebit, at));
        return owing;
    }

    @Override
    @Nullable
    @SuppressWarnings("unchecked")
    S state() {
        Object seen = state;
        return seen == DEAD ? null : (S) seen;
    }

    @Override
    boolean isEntering() {
        return state == null;
    }

    @Override
    boolean isDead() {
        return state == DEAD;
    }

    @Override
    boolean swap(S seen, S next) {
        return STATE.compareAndSet(this, seen, next);
    }

    @Override
    boolean swapDead(@Nullable S seen) {
        return STATE.compareAndSet(this, seen, DEAD);
    }

    @Override
    Algorithm<S> steps(Shared<S> shared) {
        return isShared ? shared.overflowSteps : shared.steps;
    }

    @Override
    long from(Shared<S> shared, S seen, long at) {
        return isFresh(shared, seen) ? shared.horizon.notBefore(at) : Math.max(at, bornAt);
    }

    @Override
    void noteDebit(Shared<S> shared, long from) {
        if (shared.horizon.marginTicks() != 0) {
            LAST_DEBIT.accumulateAndGet(this, from, Math::max);
        }
    }

    /** With a margin, the state must have been refilled, and nothing debited, for that long. */
    @Override
    long evictableIn(Shared<S> shared, S seen, long now) {
        long margin = shared.horizon.marginTicks();
        if (margin == 0) {
            return super.evictableIn(shared, seen, now);
        }
        long resetTicks = steps(shared).resetTicks(seen, now);
        if (resetTicks != 0) {
            return resetTicks;
        }
        long before = now - margin;
        if (before > now || lastDebit > before) {
            return before > now ? margin : lastDebit - before;
        }
        return steps(shared).resetTicks(seen, before);
    }
}
