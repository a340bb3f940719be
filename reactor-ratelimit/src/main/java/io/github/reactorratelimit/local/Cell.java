package io.github.reactorratelimit.local;

import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Projection;
import io.github.reactorratelimit.algorithm.Reading;
import io.github.reactorratelimit.algorithm.Spending;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The state of one key, or of all keys that share an overflow cell: an immutable value that is swapped by CAS. A cell
 * lives until it is {@linkplain #evict evicted} or {@linkplain #kill killed}. A dead cell never changes and never
 * revives.
 *
 * <p>A cell whose state is fresh may stand for an evicted key: it counts debits as made no earlier than the {@link
 * EvictionHorizon}, and answers accordingly.
 *
 * @param <S> the state
 */
abstract class Cell<S> {

    /** The outcome of a request that reports nothing else. */
    enum Outcome {
        /** The permits were debited. */
        TAKEN,
        /** The permits are not available. */
        DENIED,
        /** The state is not here: the key must be looked up again. */
        GONE
    }

    /** {@link #evict} found nothing to evict or to wait for. */
    static final long NOTHING = -1;

    /** {@link #overdraw} found no state. Permits are never negative. */
    static final long GONE = -1;

    private static final long ALL = Long.MAX_VALUE / 4;

    /** What the cells of a table share. */
    record Shared<S>(Algorithm<S> steps, S fresh, EvictionHorizon horizon) {

        static <S> Shared<S> of(Algorithm<S> steps, EvictionHorizon horizon) {
            return new Shared<>(steps, steps.fresh(), horizon);
        }
    }

    /** A step from one state to the next; the same object if nothing changes. */
    private interface Step<S> {
        S next(S seen, long from);
    }

    /** A step that was made as of {@code from}. */
    private record Change<S>(S before, S after, long from) {}

    final Shared<S> shared;

    Cell(Shared<S> shared) {
        this.shared = shared;
    }

    /**
     * The state; null if there is none here: the key must be looked up again. A state that equals the fresh one is the
     * same object.
     */
    abstract @Nullable S state();

    /** Replaces a state. */
    abstract boolean swap(S seen, S next);

    /** Replaces a state by the mark of a dead cell. */
    abstract boolean swapDead(S seen);

    /** Whether the key has a slot but no state yet. */
    abstract boolean isEntering();

    /** The time as of which a debit at {@code at} counts. */
    abstract long from(S seen, long at);

    /** Called before a debit is made as of {@code from}. */
    void noteDebit(long from) {}

    /** A cell whose state can be read at leisure; null if the key must be looked up again. */
    abstract @Nullable Cell<S> snapshot();

    /** The only loop that changes states: null if there is none here. */
    private @Nullable Change<S> change(long at, Step<S> step) {
        for (; ; ) {
            S seen = state();
            if (seen == null) {
                return null;
            }
            long from = from(seen, at);
            S next = step.next(seen, from);
            if (next == seen) {
                return new Change<>(seen, seen, from);
            }
            noteDebit(from);
            if (swap(seen, next)) {
                return new Change<>(seen, next, from);
            }
        }
    }

    private @Nullable Change<S> take(long at, long permits) {
        Algorithm<S> steps = shared.steps;
        return change(
                at,
                (seen, from) -> steps.waitTicks(seen, from, permits) == 0 ? steps.debit(seen, from, permits) : seen);
    }

    /** Takes permits as of {@code at}; the state is untouched if they are not available. */
    final Outcome tryTake(long at, long permits) {
        Change<S> change = take(at, permits);
        if (change == null) {
            return Outcome.GONE;
        }
        return change.after == change.before ? Outcome.DENIED : Outcome.TAKEN;
    }

    /** See {@link KeyTable#debit}; null if there is no state here. */
    final @Nullable Reading debit(long at, long permits) {
        Change<S> change = take(at, permits);
        if (change == null) {
            return null;
        }
        long missing = change.after == change.before ? permits : 0;
        return since(at, change.from, shared.steps.read(change.after, change.from, missing));
    }

    /** See {@link KeyTable#overdraw}; {@link #GONE} if there is no state here. */
    final long overdraw(long at, long permits, long maxDebt) {
        Algorithm<S> steps = shared.steps;
        Change<S> change = change(at, (seen, from) -> steps.charge(seen, from, permits, maxDebt));
        return change == null
                ? GONE
                : permits - Math.min(permits, steps.chargeable(change.before, change.from, maxDebt));
    }

    /** See {@link KeyTable#spendAll}; null if there is no state here. */
    final @Nullable List<Spending> spendAll(long now) {
        Algorithm<S> steps = shared.steps;
        Change<S> change = change(now, (seen, from) -> steps.charge(seen, from, ALL, 0));
        return change == null ? null : steps.spent(change.before, change.from);
    }

    /** See {@link KeyTable#refund}; false if there is no state here. */
    final boolean refund(LongSupplier clock, long debitedAt, long permits) {
        for (; ; ) {
            S seen = state();
            if (seen == null) {
                return false;
            }
            long now = shared.horizon.notBefore(clock.getAsLong());
            S refunded = shared.steps.refund(seen, now, debitedAt, permits);
            S next = refunded.equals(shared.fresh) ? shared.fresh : refunded;
            if (next == seen || swap(seen, next)) {
                return true;
            }
        }
    }

    /** Kills the cell whatever its state; false if there is no state here. */
    final boolean kill() {
        for (; ; ) {
            S seen = state();
            if (seen == null) {
                return false;
            }
            if (swapDead(seen)) {
                return true;
            }
        }
    }

    /**
     * Kills the cell if a fresh state gives the same decisions.
     *
     * @return 0 if this call killed it, {@link #NOTHING} if there is no state here, else the ticks until it may be worth
     *     trying again, {@link Algorithm#UNKNOWN} if that is not known
     */
    final long evict(long now) {
        S seen = state();
        if (seen == null) {
            return isEntering() ? 1 : NOTHING;
        }
        long waitTicks = evictableIn(seen, now);
        if (waitTicks != 0) {
            return waitTicks;
        }
        shared.horizon.advanceTo(now);
        return swapDead(seen) ? 0 : 1;
    }

    /** The ticks until {@link #evict} may kill this state. */
    long evictableIn(S seen, long now) {
        return isFresh(seen) ? 0 : shared.steps.resetTicks(seen, now);
    }

    final boolean isFresh(S seen) {
        return seen == shared.fresh;
    }

    final S stateOrFresh() {
        S seen = state();
        return seen == null ? shared.fresh : seen;
    }

    /** See {@link KeyTable#read}; a dead cell reads as fresh. */
    final Reading read(long now, long permits) {
        S seen = stateOrFresh();
        long from = from(seen, now);
        return since(now, from, shared.steps.read(seen, from, permits));
    }

    /** See {@link KeyTable#waitTicks}; a dead cell reads as fresh. */
    final long waitTicks(long at, long permits) {
        S seen = stateOrFresh();
        long from = from(seen, at);
        return since(at, from, shared.steps.waitTicks(seen, from, permits));
    }

    /** See {@link KeyTable#projection}; a dead cell reads as fresh. */
    final Projection<?> projection(long now) {
        S seen = stateOrFresh();
        return Projection.of(shared.steps, seen, from(seen, now));
    }

    /** See {@link KeyTable#spent}; a dead cell reads as fresh. */
    final List<Spending> spent(long at) {
        S seen = stateOrFresh();
        return shared.steps.spent(seen, from(seen, at));
    }

    /** Whether nothing is spent any more as of {@code at}. */
    final boolean isRefilled(long at) {
        return shared.steps.resetTicks(stateOrFresh(), at) == 0;
    }

    /** A wait as of {@code from}, reported as of the earlier time {@code at}; none stays none. */
    static long since(long at, long from, long waitTicks) {
        long shift = waitTicks == 0 ? 0 : from - at;
        return waitTicks > Algorithm.UNKNOWN - shift ? Algorithm.UNKNOWN : waitTicks + shift;
    }

    /** A reading as of {@code from}, reported as of the earlier time {@code at}. */
    static Reading since(long at, long from, Reading reading) {
        if (at == from) {
            return reading;
        }
        return new Reading(
                reading.policy(),
                reading.limit(),
                reading.remaining(),
                since(at, from, reading.waitTicks()),
                since(at, from, reading.resetTicks()),
                since(at, from, reading.moreTicks()));
    }
}
