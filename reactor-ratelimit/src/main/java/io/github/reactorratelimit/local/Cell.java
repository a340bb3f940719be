package io.github.reactorratelimit.local;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.Saturated;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.LongAlgorithm;
import io.github.reactorratelimit.algorithm.Projection;
import io.github.reactorratelimit.algorithm.Reading;
import io.github.reactorratelimit.algorithm.Spending;
import java.util.List;
import java.util.Objects;
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
 * <p>A cell is its own link in a {@link CellMap}, and what all cells of a table share is passed to its steps: a key whose
 * state is a long needs 32 bytes.
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

    private static final long ALL = Long.MAX_VALUE / 4;

    /** What the cells of a table share. */
    static final class Shared<S> {

        final Algorithm<S> steps;

        /** The steps of a cell that several keys share, and of a key that started from one. */
        final Algorithm<S> overflowSteps;

        final S fresh;
        final EvictionHorizon horizon;
        final long longFresh;
        private final @Nullable LongAlgorithm longSteps;

        Shared(Algorithm<S> steps, EvictionHorizon horizon) {
            this.steps = steps;
            this.overflowSteps = steps.shared();
            this.fresh = steps.fresh();
            this.horizon = horizon;
            this.longSteps = steps instanceof LongAlgorithm longs ? longs : null;
            this.longFresh = fresh instanceof Long fits ? fits : LongAlgorithm.RESERVED;
        }

        /** See {@link KeyTable#changeTo}. */
        boolean changeTo(RateLimitPolicy policy) {
            return longSteps != null && longSteps.changeTo(policy);
        }

        /** The steps over longs. */
        LongAlgorithm longSteps() {
            return Objects.requireNonNull(longSteps);
        }
    }

    /** A step from one state to the next; the same object if nothing changes. */
    private interface Step<S> {
        S next(S seen, long from);
    }

    /** A step that was made as of {@code from}. */
    private record Change<S>(S before, S after, long from) {}

    final String key;
    final int hash;

    /** The next cell of the chain; see {@link CellMap}. */
    volatile @Nullable Cell<S> next;

    Cell(String key, int hash) {
        this.key = key;
        this.hash = hash;
    }

    /** The state; null if there is none here: the key must be looked up again. */
    abstract @Nullable S state();

    /** Whether the key has a cell but no state yet. */
    abstract boolean isEntering();

    abstract boolean isDead();

    /** Replaces a state. */
    abstract boolean swap(S seen, S next);

    /** Replaces a state, or null for that of a cell that is entering, by the mark of a dead cell. */
    abstract boolean swapDead(@Nullable S seen);

    /** Gives a cell that is entering the state of another; the first call wins, and no thread waits. */
    abstract void begin(Shared<S> shared, Cell<S> start);

    /** A new cell with the state that this one has now, and with what was spent elsewhere at {@code at}. */
    abstract Cell<S> owing(Shared<S> shared, long at, List<Spending> spent);

    /** The time as of which a debit at {@code at} counts. */
    abstract long from(Shared<S> shared, S seen, long at);

    Algorithm<S> steps(Shared<S> shared) {
        return shared.steps;
    }

    /** Called before a debit is made as of {@code from}. */
    void noteDebit(Shared<S> shared, long from) {}
    /** Changes the state in one loop; null if there is none here. */
    private @Nullable Change<S> change(Shared<S> shared, long at, Step<S> step) {
        for (; ; ) {
            S seen = state();
            if (seen == null) {
                return null;
            }
            long from = from(shared, seen, at);
            S next = step.next(seen, from);
            if (next == seen) {
                return new Change<>(seen, seen, from);
            }
            noteDebit(shared, from);
            if (swap(seen, next)) {
                return new Change<>(seen, next, from);
            }
        }
    }

    private @Nullable Change<S> take(Shared<S> shared, long at, long permits) {
        Algorithm<S> steps = steps(shared);
        return change(
                shared,
                at,
                (seen, from) -> steps.waitTicks(seen, from, permits) == 0 ? steps.debit(seen, from, permits) : seen);
    }

    /** Takes permits as of {@code at}; the state is untouched if they are not available. */
    Outcome tryTake(Shared<S> shared, long at, long permits) {
        Change<S> change = take(shared, at, permits);
        if (change == null) {
            return Outcome.GONE;
        }
        return change.after == change.before ? Outcome.DENIED : Outcome.TAKEN;
    }

    /** See {@link KeyTable#debit}; null if there is no state here. */
    @Nullable
    Reading debit(Shared<S> shared, long at, long permits) {
        Change<S> change = take(shared, at, permits);
        if (change == null) {
            return null;
        }
        long missing = change.after == change.before ? permits : 0;
        return since(at, change.from, steps(shared).read(change.after, change.from, missing));
    }

    /** {@link #debit} as a decision, whose debit belongs to {@code owner}; null if the key must be looked up again. */
    @Nullable
    Decision decide(Shared<S> shared, Object owner, RateLimitPolicy policy, long at, long permits) {
        Reading reading = debit(shared, at, permits);
        return reading == null ? null : KeyTable.decision(reading, owner, policy, key, at, permits);
    }

    /** The denial of permits that are not available now; null if they are, or if there is no state here. */
    @Nullable
    Decision denial(Shared<S> shared, long at, long permits) {
        Reading reading = read(shared, at, permits);
        return reading.allowed() ? null : KeyTable.denial(reading, permits);
    }

    /** See {@link KeyTable#overdraw}; null if there is no state here. */
    final @Nullable Long overdraw(Shared<S> shared, long at, long permits, long maxDebt) {
        Algorithm<S> steps = steps(shared);
        Change<S> change = change(shared, at, (seen, from) -> steps.charge(seen, from, permits, maxDebt));
        if (change == null) {
            return null;
        }
        return permits - Math.min(permits, steps.chargeable(change.before, change.from, maxDebt));
    }

    /** See {@link KeyTable#spendAll}; null if there is no state here. */
    final @Nullable List<Spending> spendAll(Shared<S> shared, long now) {
        Algorithm<S> steps = steps(shared);
        Change<S> change = change(shared, now, (seen, from) -> steps.charge(seen, from, ALL, 0));
        return change == null ? null : steps.spent(change.before, change.from);
    }

    /** See {@link KeyTable#refund}; false if there is no state here. */
    boolean refund(Shared<S> shared, LongSupplier clock, long debitedAt, long permits) {
        for (; ; ) {
            S seen = state();
            if (seen == null) {
                return false;
            }
            long now = shared.horizon.notBefore(clock.getAsLong());
            S refunded = steps(shared).refund(seen, now, debitedAt, permits);
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
    final long evict(Shared<S> shared, long now) {
        S seen = state();
        if (seen == null) {
            return isEntering() ? 1 : NOTHING;
        }
        long waitTicks = evictableIn(shared, seen, now);
        if (waitTicks != 0) {
            return waitTicks;
        }
        shared.horizon.advanceTo(now);
        return swapDead(seen) ? 0 : 1;
    }

    /** The ticks until {@link #evict} may kill this state. */
    long evictableIn(Shared<S> shared, S seen, long now) {
        return isFresh(shared, seen) ? 0 : steps(shared).resetTicks(seen, now);
    }

    final boolean isFresh(Shared<S> shared, S seen) {
        return seen == shared.fresh || seen.equals(shared.fresh);
    }

    final S stateOrFresh(Shared<S> shared) {
        S seen = state();
        return seen == null ? shared.fresh : seen;
    }

    /** See {@link KeyTable#read}; a dead cell reads as fresh. */
    final Reading read(Shared<S> shared, long now, long permits) {
        S seen = stateOrFresh(shared);
        long from = from(shared, seen, now);
        return since(now, from, steps(shared).read(seen, from, permits));
    }

    /** See {@link KeyTable#waitTicks}; a dead cell reads as fresh. */
    final long waitTicks(Shared<S> shared, long at, long permits) {
        S seen = stateOrFresh(shared);
        long from = from(shared, seen, at);
        return since(at, from, steps(shared).waitTicks(seen, from, permits));
    }

    /** See {@link KeyTable#projection}; a dead cell reads as fresh. */
    final Projection<?> projection(Shared<S> shared, long now) {
        S seen = stateOrFresh(shared);
        return new Projection<>(steps(shared), seen, from(shared, seen, now));
    }

    /** See {@link KeyTable#spent}; a dead cell reads as fresh. */
    final List<Spending> spent(Shared<S> shared, long at) {
        S seen = stateOrFresh(shared);
        return steps(shared).spent(seen, from(shared, seen, at));
    }

    /** Whether nothing is spent any more as of {@code at}. */
    final boolean isRefilled(Shared<S> shared, long at) {
        return steps(shared).resetTicks(stateOrFresh(shared), at) == 0;
    }

    /** A wait as of {@code from}, reported as of the earlier time {@code at}; none stays none. */
    static long since(long at, long from, long waitTicks) {
        long shift = waitTicks == 0 ? 0 : from - at;
        return Saturated.plus(waitTicks, shift);
    }

    /** A reading as of {@code from}, reported as of the earlier time {@code at}. */
    static Reading since(long at, long from, Reading reading) {
        if (at == from) {
            return reading;
        }
        return new Reading(
                reading.policy(),
                reading.remaining(),
                since(at, from, reading.waitTicks()),
                since(at, from, reading.resetTicks()),
                since(at, from, reading.moreTicks()));
    }
}
