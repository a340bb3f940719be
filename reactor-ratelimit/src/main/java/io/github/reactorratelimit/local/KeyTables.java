package io.github.reactorratelimit.local;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.LongAlgorithm;
import io.github.reactorratelimit.local.Cell.Shared;
import io.github.reactorratelimit.local.CellMap.Maker;
import io.github.reactorratelimit.local.KeyTable.CarriedSpend;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Makes the table that suits a policy: of longs where a state fits into one, else of objects. */
final class KeyTables {

    private KeyTables() {}

    /** How many cells the keys of a limiter share that find no room. */
    static final int OVERFLOW_CELLS = 1 << 16;

    /**
     * An empty table.
     *
     * @param overflowCells how many cells the keys share that find no room, a power of two
     * @param carried what keys that enter start with; null if they start fresh
     * @throws IllegalArgumentException if {@code maxKeys < 1}, or the policy has no exact steps at this tick
     */
    static KeyTable of(
            RateLimitPolicy policy,
            Algorithms.Clock clock,
            int maxKeys,
            int overflowCells,
            @Nullable CarriedSpend carried) {
        EvictionHorizon horizon = EvictionHorizon.of(policy, clock);
        Optional<LongAlgorithm> longSteps =
                horizon.marginTicks() == 0 ? Algorithms.asLong(policy, clock) : Optional.empty();
        return longSteps.isPresent()
                ? of(
                        new Shared<>(longSteps.get(), horizon),
                        LongCell::new,
                        LongCell::new,
                        maxKeys,
                        overflowCells,
                        carried)
                : ofObjects(
                        new Shared<>(Algorithms.of(policy, clock).compact(), horizon), maxKeys, overflowCells, carried);
    }

    private static <S> KeyTable ofObjects(
            Shared<S> shared, int maxKeys, int overflowCells, @Nullable CarriedSpend carried) {
        return of(shared, ObjectCell::new, ObjectCell::overflow, maxKeys, overflowCells, carried);
    }

    private static <S> KeyTable of(
            Shared<S> shared,
            Maker<S> maker,
            Maker<S> overflowMaker,
            int maxKeys,
            int overflowCells,
            @Nullable CarriedSpend carried) {
        Cell<S> pristine = maker.make("", 0);
        pristine.begin(shared, pristine);
        Supplier<Cell<S>> overflow = () -> {
            Cell<S> cell = overflowMaker.make("", 0);
            cell.begin(shared, pristine);
            return cell;
        };
        return new BoundedKeyTable<>(
                new CellMap<>(maker, maxKeys),
                shared,
                pristine,
                new OverflowCells<>(overflow, maxKeys, overflowCells),
                carried);
    }
}
