package io.github.reactorratelimit.local;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.LongAlgorithm;
import io.github.reactorratelimit.local.Cell.Shared;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Makes the table that suits a policy: longs in an array where a state fits into one, else objects in a map. */
final class KeyTables {

    private KeyTables() {}

    private static final int OVERFLOW_CELLS = 1 << 16;

    /**
     * An empty table.
     *
     * @param carried what keys that enter start with; null if they start fresh
     * @throws IllegalArgumentException if {@code maxKeys < 1}, or the policy has no exact steps at this tick
     */
    static KeyTable of(RateLimitPolicy policy, Algorithms.Clock clock, int maxKeys, @Nullable CarriedSpend carried) {
        return of(policy, clock, maxKeys, OVERFLOW_CELLS, carried);
    }

    /** @param overflowCells how many cells the keys share that find no room, a power of two */
    static KeyTable of(
            RateLimitPolicy policy,
            Algorithms.Clock clock,
            int maxKeys,
            int overflowCells,
            @Nullable CarriedSpend carried) {
        EvictionHorizon horizon = EvictionHorizon.of(policy, clock);
        Optional<LongAlgorithm> longSteps =
                horizon.marginTicks() == 0 ? Algorithms.asLong(policy, clock) : Optional.empty();
        if (longSteps.isPresent()) {
            LongAlgorithm steps = longSteps.get();
            Shared<Long> shared = Shared.of(steps, horizon);
            return of(new ArraySlots(steps, shared, maxKeys), shared, maxKeys, overflowCells, carried);
        }
        return ofObjects(Shared.of(Algorithms.of(policy, clock).compact(), horizon), maxKeys, overflowCells, carried);
    }

    private static <S> KeyTable ofObjects(
            Shared<S> shared, int maxKeys, int overflowCells, @Nullable CarriedSpend carried) {
        return of(new MapSlots<>(shared, maxKeys), shared, maxKeys, overflowCells, carried);
    }

    private static <S> KeyTable of(
            Slots<S> slots, Shared<S> shared, int maxKeys, int overflowCells, @Nullable CarriedSpend carried) {
        ObjectCell<S> pristine = ObjectCell.fresh(shared);
        ObjectCell<S> pristineOverflow =
                ObjectCell.fresh(Shared.of(shared.steps().shared(), shared.horizon()));
        return new BoundedKeyTable<>(
                slots,
                pristine,
                shared.steps().policy().needsRelease(),
                new OverflowCells<>(pristineOverflow, maxKeys, overflowCells),
                carried);
    }
}
