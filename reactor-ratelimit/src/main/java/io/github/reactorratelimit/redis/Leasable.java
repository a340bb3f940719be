package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithms;

/** Which policies permits can be leased of. */
final class Leasable {

    private Leasable() {}

    /** @throws IllegalArgumentException if permits of the policy cannot be leased, saying why */
    static void require(RateLimitPolicy policy) {
        Algorithms.traits(policy).whyNotPrepaid().ifPresent(why -> {
            throw new IllegalArgumentException("permits of " + policy + " cannot be leased: " + why);
        });
    }

    static boolean is(RateLimitPolicy policy) {
        return Algorithms.traits(policy).whyNotPrepaid().isEmpty();
    }
}
