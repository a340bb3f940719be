package io.github.reactorratelimit.local;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.LongAlgorithm;
import io.github.reactorratelimit.algorithm.Projection;
import io.github.reactorratelimit.algorithm.Reading;
import io.github.reactorratelimit.algorithm.Spending;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A state in one long, swapped by CAS, wherever that long is; nothing is allocated but what is returned.
 * For policies that need no {@linkplain Forgetting#marginTicks() margin}.
 */
abstract class LongWord extends Cell {

    /** The mark of a dead cell; the other reserved longs count as dead too: the key is looked up again. */
    static final long DEAD = LongAlgorithm.RESERVED;

    /** What all cells of a table share. */
    record Shared(LongAlgorithm steps, Algorithm<Long> boxed, long fresh, Forgetting forgetting) {

        static Shared of(LongAlgorithm steps, Forgetting forgetting) {
            return new Shared(steps, steps.boxed(), steps.fresh(), forgetting);
        }

        /** The time as of which a debit at {@code at} counts. */
        long from(long seen, long at) {
            return seen == fresh ? forgetting.notBefore(at) : at;
        }

        /**
         * The state with what was spent elsewhere at {@code at}. One that is refilled by the horizon is fresh, so that the
         * key's debits are held to the horizon.
         */
        long owing(long state, long at, List<Spending> spent) {
            long owing = boxed.owing(state, at, spent);
            return steps.resetTicks(owing, forgetting.horizon()) == 0 ? fresh : owing;
        }
    }

    final Shared shared;

    LongWord(Shared shared) {
        this.shared = shared;
    }

    abstract long state();

    abstract boolean swap(long seen, long next);

    static boolean isMark(long state) {
        return state <= LongAlgorithm.LAST_RESERVED;
    }

    /** The state, fresh if dead. */
    final long aliveOrFresh() {
        long seen = state();
        return isMark(seen) ? shared.fresh : seen;
    }

    @Override
    final long tryDebit(long at, long permits) {
        LongAlgorithm steps = shared.steps;
        for (; ; ) {
            long seen = state();
            if (isMark(seen)) {
                return GONE;
            }
            long from = shared.from(seen, at);
            long waitTicks = steps.waitTicks(seen, from, permits);
            if (waitTicks != 0) {
                return since(at, from, waitTicks);
            }
            if (swap(seen, steps.debit(seen, from, permits))) {
                return 0;
            }
        }
    }

    @Override
    @Nullable
    final Reading debit(long at, long permits) {
        LongAlgorithm steps = shared.steps;
        for (; ; ) {
            long seen = state();
            if (isMark(seen)) {
                return null;
            }
            long from = shared.from(seen, at);
            if (steps.waitTicks(seen, from, permits) != 0) {
                return since(at, from, shared.boxed.read(seen, from, permits));
            }
            long next = steps.debit(seen, from, permits);
            if (swap(seen, next)) {
                return since(at, from, shared.boxed.read(next, from, 0));
            }
        }
    }

    @Override
    final long overdraw(long at, long permits, long maxDebt) {
        LongAlgorithm steps = shared.steps;
        for (; ; ) {
            long seen = state();
            if (isMark(seen)) {
                return GONE;
            }
            long from = shared.from(seen, at);
            long charged = Math.min(permits, steps.chargeable(seen, from, maxDebt));
            if (charged == 0 || swap(seen, steps.debit(seen, from, charged))) {
                return permits - charged;
            }
        }
    }

    @Override
    @Nullable
    final List<Spending> spendAll(long now) {
        for (; ; ) {
            long seen = state();
            if (isMark(seen)) {
                return null;
            }
            long from = shared.from(seen, now);
            long left = shared.steps.chargeable(seen, from, 0);
            if (left <= 0 || swap(seen, shared.steps.debit(seen, from, left))) {
                return shared.boxed.spent(seen, from);
            }
        }
    }

    @Override
    final void refund(LongSupplier clock, long debitedAt, long permits) {
        tryRefund(clock, debitedAt, permits);
    }

    /** See {@link #refund}; false if dead. */
    final boolean tryRefund(LongSupplier clock, long debitedAt, long permits) {
        for (; ; ) {
            long seen = state();
            if (isMark(seen)) {
                return false;
            }
            long now = shared.forgetting.notBefore(clock.getAsLong());
            long next = shared.steps.refund(seen, now, debitedAt, permits);
            if (next == seen || swap(seen, next)) {
                return true;
            }
        }
    }

    @Override
    final boolean kill() {
        for (; ; ) {
            long seen = state();
            if (isMark(seen)) {
                return false;
            }
            if (swap(seen, DEAD)) {
                return true;
            }
        }
    }

    @Override
    final Reading read(long now, long permits) {
        long seen = aliveOrFresh();
        long from = shared.from(seen, now);
        return since(now, from, shared.boxed.read(seen, from, permits));
    }

    @Override
    final long waitTicks(long at, long permits) {
        long seen = aliveOrFresh();
        long from = shared.from(seen, at);
        return since(at, from, shared.steps.waitTicks(seen, from, permits));
    }

    @Override
    final Projection<?> projection(long now) {
        long seen = aliveOrFresh();
        return Projection.of(shared.boxed, seen, shared.from(seen, now));
    }

    @Override
    final List<Spending> spent(long at) {
        long seen = aliveOrFresh();
        return shared.boxed.spent(seen, shared.from(seen, at));
    }

    @Override
    final boolean changeTo(RateLimitPolicy policy) {
        return shared.steps.changeTo(policy);
    }

    @Override
    final boolean isDead() {
        return isMark(state());
    }

    @Override
    final boolean isRefilled(long at) {
        return shared.steps.resetTicks(aliveOrFresh(), at) == 0;
    }

    @Override
    final long forget(long now) {
        long seen = state();
        return isMark(seen) ? 0 : forget(seen, now);
    }

    /** Like {@link #forget(long)} for a state that was seen: 0 only for the one who kills the cell. */
    final long forget(long seen, long now) {
        long waitTicks = forgettableIn(seen, now);
        if (waitTicks != 0) {
            return waitTicks;
        }
        shared.forgetting.advanceTo(now);
        return swap(seen, DEAD) ? 0 : 1;
    }

    private long forgettableIn(long seen, long now) {
        return seen == shared.fresh ? 0 : shared.steps.resetTicks(seen, now);
    }
}
