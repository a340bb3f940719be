package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.CompositePolicy;
import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowLog;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Which policies permits can be leased of. */
final class Leasable {

    private Leasable() {}

    /** @throws IllegalArgumentException if permits of the policy cannot be leased, saying why */
    static void require(RateLimitPolicy policy) {
        String why = obstacle(policy);
        if (why != null) {
            throw new IllegalArgumentException("permits of " + policy + " cannot be leased: " + why);
        }
    }

    static boolean is(RateLimitPolicy policy) {
        return obstacle(policy) == null;
    }

    private static @Nullable String obstacle(RateLimitPolicy policy) {
        if (policy instanceof LeakyBucket) {
            return "a leaky bucket gives each permit a time of its own, and one that is held would leave at another";
        }
        if (policy instanceof ConcurrencyLimit) {
            return "permits of a concurrency limit come back when the work ends, and one that is held does no work";
        }
        if (policy instanceof SlidingWindowLog) {
            return "a log is exact in every window, and a permit that is held is spent later than it was logged;"
                    + " a SlidingWindowCounter can be leased";
        }
        return policy instanceof CompositePolicy composite
                ? composite.parts().stream()
                        .map(Leasable::obstacle)
                        .filter(Objects::nonNull)
                        .findFirst()
                        .orElse(null)
                : null;
    }
}
