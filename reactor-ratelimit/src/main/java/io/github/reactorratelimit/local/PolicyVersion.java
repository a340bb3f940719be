package io.github.reactorratelimit.local;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithms;

/**
 * A policy of a limiter and the table of the keys under it. It owns the debits made under it. Compared by identity: the
 * same policy may come back as another version.
 */
final class PolicyVersion {

    /** The state that it belongs to. */
    final Object owner;

    final RateLimitPolicy policy;
    final KeyTable table;

    /** The most permits of one request: a field, because asking the policy costs more where there are many kinds. */
    final long capacity;

    /** Whether permits that a late timer delivers are debited at the time they came due. */
    final boolean catchesUp;

    /** The decision of every request whose permits are spent for good. */
    final Decision spent;

    PolicyVersion(Object owner, RateLimitPolicy policy, KeyTable table) {
        this.owner = owner;
        this.policy = policy;
        this.table = table;
        this.capacity = policy.capacity();
        this.catchesUp = Algorithms.traits(policy).catchesUp();
        this.spent = Decision.spent(policy);
    }
}
