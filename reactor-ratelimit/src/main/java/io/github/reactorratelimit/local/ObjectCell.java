package io.github.reactorratelimit.local;

import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Projection;
import io.github.reactorratelimit.algorithm.Reading;
import io.github.reactorratelimit.algorithm.Spending;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * An immutable state object, swapped by CAS.
 *
 * @param <S> the state
 */
final class ObjectCell<S> extends Cell {

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

    /** What all cells of a table share. */
    private record Shared<S>(Algorithm<S> steps, S fresh, Forgetting forgetting) {}

    private final Shared<S> shared;

    /** Null is the mark of a dead cell. */
    private volatile @Nullable S state;

    /**
     * No debit was made after this time; kept only where a margin needs it. A refund may leave a state
     * that tells nothing about the debits before.
     */
    private volatile long lastDebit;

    /** The horizon when the cell was made: it may stand for a key that was forgotten as of then. */
    private final long bornAt;

    private ObjectCell(Shared<S> shared, S state, long lastDebit) {
        this.bornAt = shared.forgetting.horizon();
        this.shared = shared;
        this.state = state;
        this.lastDebit = lastDebit;
    }

    static <S> ObjectCell<S> fresh(Algorithm<S> steps, Forgetting forgetting) {
        S fresh = steps.fresh();
        return new ObjectCell<>(new Shared<>(steps, fresh, forgetting), fresh, Long.MIN_VALUE);
    }

    @Override
    Cell shared() {
        return fresh(shared.steps.shared(), shared.forgetting);
    }

    @Override
    long tryDebit(long at, long permits) {
        Algorithm<S> steps = shared.steps;
        for (; ; ) {
            S seen = state;
            if (seen == null) {
                return GONE;
            }
            long from = from(seen, at);
            long waitTicks = steps.waitTicks(seen, from, permits);
            if (waitTicks != 0) {
                return since(at, from, waitTicks);
            }
            if (swapDebited(seen, from, permits)) {
                return 0;
            }
        }
    }

    @Override
    @Nullable
    Reading debit(long at, long permits) {
        Algorithm<S> steps = shared.steps;
        for (; ; ) {
            S seen = state;
            if (seen == null) {
                return null;
            }
            long from = from(seen, at);
            if (steps.waitTicks(seen, from, permits) != 0) {
                return since(at, from, steps.read(seen, from, permits));
            }
            S next = steps.debit(seen, from, permits);
            noteDebit(from);
            if (swap(seen, next)) {
                return since(at, from, steps.read(next, from, 0));
            }
        }
    }

    @Override
    long overdraw(long at, long permits, long maxDebt) {
        Algorithm<S> steps = shared.steps;
        for (; ; ) {
            S seen = state;
            if (seen == null) {
                return GONE;
            }
            long from = from(seen, at);
            long charged = Math.min(permits, steps.chargeable(seen, from, maxDebt));
            S next = steps.charge(seen, from, permits, maxDebt);
            noteDebit(from);
            if (next == seen || swap(seen, next)) {
                return permits - charged;
            }
        }
    }

    @Override
    @Nullable
    List<Spending> spendAll(long now) {
        Algorithm<S> steps = shared.steps;
        for (; ; ) {
            S seen = state;
            if (seen == null) {
                return null;
            }
            long from = from(seen, now);
            S next = steps.charge(seen, from, steps.capacity(), 0);
            noteDebit(from);
            if (next == seen || swap(seen, next)) {
                return steps.spent(seen, from);
            }
        }
    }

    @Override
    void refund(LongSupplier clock, long debitedAt, long permits) {
        for (; ; ) {
            S seen = state;
            if (seen == null) {
                return;
            }
            long now = shared.forgetting.notBefore(clock.getAsLong());
            S next = shared.steps.refund(seen, now, debitedAt, permits);
            // Fresh states are told by identity, so one that equals it becomes it.
            if (next == seen || swap(seen, next.equals(shared.fresh) ? shared.fresh : next)) {
                return;
            }
        }
    }

    @Override
    boolean kill() {
        for (; ; ) {
            S seen = state;
            if (seen == null) {
                return false;
            }
            if (swap(seen, null)) {
                return true;
            }
        }
    }

    @Override
    Reading read(long now, long permits) {
        S seen = aliveOrFresh();
        long from = from(seen, now);
        return since(now, from, shared.steps.read(seen, from, permits));
    }

    @Override
    long waitTicks(long at, long permits) {
        S seen = aliveOrFresh();
        long from = from(seen, at);
        return since(at, from, shared.steps.waitTicks(seen, from, permits));
    }

    @Override
    Projection<?> projection(long now) {
        S seen = aliveOrFresh();
        return Projection.of(shared.steps, seen, from(seen, now));
    }

    @Override
    List<Spending> spent(long at) {
        S seen = aliveOrFresh();
        return shared.steps.spent(seen, from(seen, at));
    }

    @Override
    ObjectCell<S> owing(long at, List<Spending> spent) {
        return new ObjectCell<>(shared, shared.steps.owing(aliveOrFresh(), at, spent), Math.max(lastDebit, at));
    }

    @Override
    boolean isDead() {
        return state == null;
    }

    @Override
    boolean isRefilled(long at) {
        return shared.steps.resetTicks(aliveOrFresh(), at) == 0;
    }

    @Override
    long forget(long now) {
        S seen = state;
        if (seen == null) {
            return 0;
        }
        long waitTicks = forgettableIn(seen, now);
        if (waitTicks != 0) {
            return waitTicks;
        }
        shared.forgetting.advanceTo(now);
        return swap(seen, null) ? 0 : 1;
    }

    private long forgettableIn(S seen, long now) {
        long margin = shared.forgetting.marginTicks();
        if (margin == 0 && seen == shared.fresh) {
            return 0;
        }
        long resetTicks = shared.steps.resetTicks(seen, now);
        return margin == 0 || resetTicks != 0 ? resetTicks : idleIn(seen, now, margin);
    }

    /** The ticks until the state has been refilled, and nothing debited, for a margin. */
    private long idleIn(S seen, long now, long margin) {
        long before = now - margin;
        if (before > now || lastDebit > before) {
            return before > now ? margin : lastDebit - before;
        }
        return shared.steps.resetTicks(seen, before);
    }

    @Override
    ObjectCell<S> copy() {
        return new ObjectCell<>(shared, aliveOrFresh(), lastDebit);
    }

    private long from(S seen, long at) {
        return seen == shared.fresh ? shared.forgetting.notBefore(at) : Math.max(at, bornAt);
    }

    private S aliveOrFresh() {
        S seen = state;
        return seen == null ? shared.fresh : seen;
    }

    private boolean swapDebited(S seen, long from, long permits) {
        S next = shared.steps.debit(seen, from, permits);
        noteDebit(from);
        return swap(seen, next);
    }

    private void noteDebit(long from) {
        if (shared.forgetting.marginTicks() != 0) {
            for (long last = lastDebit; from > last && !LAST_DEBIT.compareAndSet(this, last, from); last = lastDebit) {}
        }
    }

    private boolean swap(S seen, @Nullable S next) {
        return STATE.compareAndSet(this, seen, next);
    }
}
