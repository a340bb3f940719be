package io.github.reactorratelimit.local;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.LongAlgorithm;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Chooses the table that suits a policy: longs in an array where the state of a rate fits into one, else objects in a map. */
final class KeyTables {

    private KeyTables() {}

    private static final int OVERFLOW_CELLS = 1 << 16;

    /**
     * An empty table.
     *
     * @throws IllegalArgumentException if {@code maxKeys < 1}, or the policy has no exact steps at this tick
     */
    static KeyTable of(RateLimitPolicy policy, Algorithms.Clock clock, int maxKeys) {
        return of(policy, clock, maxKeys, OVERFLOW_CELLS, null);
    }

    /** @param overflowCells how many cells the keys share that find no room, a power of two */
    static KeyTable of(RateLimitPolicy policy, Algorithms.Clock clock, int maxKeys, int overflowCells) {
        return of(policy, clock, maxKeys, overflowCells, null);
    }

    /** @param carried what keys that enter start with; null if they start fresh */
    static KeyTable of(RateLimitPolicy policy, Algorithms.Clock clock, int maxKeys, @Nullable CarriedSpend carried) {
        return of(policy, clock, maxKeys, OVERFLOW_CELLS, carried);
    }

    private static KeyTable of(
            RateLimitPolicy policy,
            Algorithms.Clock clock,
            int maxKeys,
            int overflowCells,
            @Nullable CarriedSpend carried) {
        Forgetting forgetting = Forgetting.of(policy, clock);
        Optional<LongAlgorithm> longSteps = longSteps(policy, clock, forgetting);
        if (longSteps.isPresent() && !policy.needsRelease()) {
            return new LongKeyTable(LongWord.Shared.of(longSteps.get(), forgetting), maxKeys, overflowCells, carried);
        }
        Cell pristine = longSteps
                .<Cell>map(steps -> LongCell.fresh(steps, forgetting))
                .orElseGet(() -> ObjectCell.fresh(Algorithms.of(policy, clock), forgetting));
        return new BoundedKeyTable(pristine, policy, forgetting, maxKeys, overflowCells, carried);
    }

    private static Optional<LongAlgorithm> longSteps(
            RateLimitPolicy policy, Algorithms.Clock clock, Forgetting forgetting) {
        return forgetting.marginTicks() == 0 ? Algorithms.asLong(policy, clock) : Optional.empty();
    }
}
