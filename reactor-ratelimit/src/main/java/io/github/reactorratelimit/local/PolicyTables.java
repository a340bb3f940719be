package io.github.reactorratelimit.local;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.Saturated;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.local.KeyTable.CarriedSpend;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Makes the tables of one limiter, and keeps those of overrides.
 *
 * @param owner the state that the versions belong to
 * @param overrides the versions of overrides
 */
record PolicyTables(
        Object owner,
        String limiter,
        Algorithms.Clock clock,
        Kind kind,
        Map<RateLimitPolicy, PolicyVersion> overrides) {

    /** Makes a table. */
    interface Maker {

        /**
         * An empty table.
         *
         * @param carried what its keys start with; null if they start fresh
         */
        KeyTable make(RateLimitPolicy policy, Algorithms.Clock clock, @Nullable CarriedSpend carried);
    }

    /**
     * What a store says of its tables.
     *
     * @param maxPolicies policies of one limiter, each with a table
     * @param advice for a limiter that has more
     */
    record Kind(int maxPolicies, String advice, Maker maker) {}

    PolicyVersion first(RateLimitPolicy policy) {
        return make(policy, null);
    }

    private PolicyVersion make(RateLimitPolicy policy, @Nullable CarriedSpend carried) {
        return new PolicyVersion(owner, policy, kind.maker.make(policy, clock, carried));
    }

    /** The version of an override, the same each time. */
    PolicyVersion override(RateLimitPolicy policy) {
        PolicyVersion known = overrides.get(policy);
        if (known != null) {
            return known;
        }
        if (overrides.size() >= kind.maxPolicies - 1) {
            throw new IllegalStateException("limiter '" + limiter + "' has more than " + kind.maxPolicies
                    + " different policies; " + kind.advice);
        }
        return overrides.computeIfAbsent(policy, this::first);
    }

    boolean isOverride(PolicyVersion version) {
        return overrides.get(version.policy) == version;
    }

    /**
     * The version after a change for all keys; the same if the policy is the same. A key that has not reached the table
     * of {@code before} from the one before that counts as fully spent.
     */
    PolicyVersion next(PolicyVersion before, RateLimitPolicy to, long now) {
        if (to.equals(before.policy)) {
            return before;
        }
        if (!before.table.mayBeReplaced()) {
            throw new UnsupportedOperationException("this store cannot change a policy while it is in use");
        }
        if (before.table.changeTo(to)) {
            return new PolicyVersion(owner, to, before.table);
        }
        CarriedSpend carried = new CarriedSpend(
                before.table, to, now, Saturated.plus(now, Algorithms.traits(to).recovery()));
        return make(to, carried);
    }
}
