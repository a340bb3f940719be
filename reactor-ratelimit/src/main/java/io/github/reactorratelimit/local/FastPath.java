package io.github.reactorratelimit.local;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.algorithm.LongAlgorithm;
import io.github.reactorratelimit.local.Cell.Outcome;
import org.jspecify.annotations.Nullable;

/**
 * Decides on a slot of a {@link SlotTable} at next to no cost: one read and one CAS while no other thread interferes, and
 * no object but a denial.
 */
final class FastPath {

    private final LongAlgorithm steps;
    private final long fresh;
    private final EvictionHorizon horizon;

    FastPath(LongAlgorithm steps, EvictionHorizon horizon) {
        this.steps = steps;
        this.fresh = steps.fresh();
        this.horizon = horizon;
    }

    /** See {@link Cell#tryTake}. */
    Outcome tryTake(SlotTable table, int slot, long at, long permits) {
        for (; ; ) {
            long seen = table.state(slot);
            if (SlotTable.isMark(seen)) {
                return Outcome.GONE;
            }
            long next = steps.take(seen, from(seen, at), permits);
            if (next == LongAlgorithm.RESERVED) {
                return Outcome.DENIED;
            }
            if (table.swap(slot, seen, next)) {
                return Outcome.TAKEN;
            }
        }
    }

    /** See {@link Slots#denial}; null if the state does not deny the permits any more. */
    @Nullable
    Decision denial(long seen, long at, long permits) {
        long from = from(seen, at);
        if (SlotTable.isMark(seen) || steps.waitTicks(seen, from, permits) == 0) {
            return null;
        }
        long resetTicks = Cell.since(at, from, steps.resetTicks(seen, from));
        long waitTicks = Cell.since(at, from, steps.waitTicks(seen, from, permits));
        return Decision.deny(
                steps.policy(), permits, steps.limit(), steps.remaining(seen, from), resetTicks, waitTicks);
    }

    private long from(long seen, long at) {
        return seen == fresh ? horizon.notBefore(at) : at;
    }
}
