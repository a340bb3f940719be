package io.github.reactorratelimit.local;

import io.github.reactorratelimit.algorithm.Spending;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A cell that is an object: the value of a {@link MapSlots map}, or an overflow cell.
 *
 * @param <S> the state
 */
final class ObjectCell<S> extends Cell<S> {

    private static final VarHandle STATE;
    private static final VarHandle LAST_DEBIT;

    static {
        try {
            LAST_DEBIT = MethodHandles.lookup().findVarHandle(ObjectCell.class, "lastDebit", long.class);
            STATE = MethodHandles.lookup().findVarHandle(ObjectCell.class, "state", Object.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final boolean entering;

    /** The horizon when the cell was made: it may stand for a key that was evicted as of then. */
    private final long bornAt;

    /** Null marks a dead cell, and one that is entering. */
    private volatile @Nullable S state;

    /**
     * No debit was made after this time; kept only where a margin needs it. A refund may leave a state that says nothing
     * about the debits before.
     */
    private volatile long lastDebit;

    private ObjectCell(Shared<S> shared, @Nullable S state, long lastDebit, long bornAt, boolean entering) {
        super(shared);
        this.bornAt = bornAt;
        this.state = state;
        this.lastDebit = lastDebit;
        this.entering = entering;
    }

    private static <S> ObjectCell<S> of(Shared<S> shared, S state, long lastDebit) {
        return new ObjectCell<>(shared, state, lastDebit, shared.horizon().horizon(), false);
    }

    static <S> ObjectCell<S> fresh(Shared<S> shared) {
        return of(shared, shared.fresh(), Long.MIN_VALUE);
    }

    /** A cell that holds a state to be read, whatever the horizon. */
    static <S> ObjectCell<S> toRead(Shared<S> shared, S state) {
        return new ObjectCell<>(shared, state, Long.MIN_VALUE, Long.MIN_VALUE, false);
    }

    /**
     * A key that has a slot but no state yet. Any thread that meets it replaces it by a copy of the cell that the key
     * starts from: the first one wins, and no thread waits.
     */
    static <S> ObjectCell<S> entering(Shared<S> shared) {
        return new ObjectCell<>(shared, null, Long.MIN_VALUE, Long.MIN_VALUE, true);
    }

    /** A new cell with the state that this one has now. */
    ObjectCell<S> copy() {
        return of(shared, stateOrFresh(), lastDebit);
    }

    /** A new cell with the state that this one has now, and with what was spent elsewhere at {@code at}. */
    ObjectCell<S> owing(long at, List<Spending> spent) {
        return of(shared, shared.steps().owing(stateOrFresh(), at, spent), Math.max(lastDebit, at));
    }

    @Override
    @Nullable
    S state() {
        return state;
    }

    @Override
    boolean swap(S seen, S next) {
        return STATE.compareAndSet(this, seen, next);
    }

    @Override
    boolean swapDead(S seen) {
        return STATE.compareAndSet(this, seen, null);
    }

    @Override
    boolean isEntering() {
        return entering;
    }

    @Override
    long from(S seen, long at) {
        return isFresh(seen) ? shared.horizon().notBefore(at) : Math.max(at, bornAt);
    }

    @Override
    void noteDebit(long from) {
        if (shared.horizon().marginTicks() != 0) {
            for (long last = lastDebit; from > last && !LAST_DEBIT.compareAndSet(this, last, from); last = lastDebit) {}
        }
    }

    /** With a margin, the state must have been refilled, and nothing debited, for that long. */
    @Override
    long evictableIn(S seen, long now) {
        long margin = shared.horizon().marginTicks();
        if (margin == 0) {
            return super.evictableIn(seen, now);
        }
        long resetTicks = shared.steps().resetTicks(seen, now);
        if (resetTicks != 0) {
            return resetTicks;
        }
        long before = now - margin;
        if (before > now || lastDebit > before) {
            return before > now ? margin : lastDebit - before;
        }
        return shared.steps().resetTicks(seen, before);
    }

    @Override
    ObjectCell<S> snapshot() {
        return this;
    }
}
