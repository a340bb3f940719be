package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.RateLimitPolicy;
import java.util.Optional;

/** Finds the algorithm of a policy. */
public final class Algorithms {

    private Algorithms() {}

    /**
     * Where a store's clock stands.
     *
     * @param tick its unit
     * @param epochOffset ticks to add to its time to get ticks since 1970-01-01T00:00Z; 0 if it counts from there
     * @param start its time when the limiter started, for initial tokens
     */
    public record Clock(Tick tick, long epochOffset, long start) {}

    /**
     * The steps of a policy.
     *
     * @throws IllegalArgumentException if they cannot be exact to the promised 0.1 % at this tick
     */
    public static Algorithm<?> of(RateLimitPolicy policy, Clock clock) {
        throw new UnsupportedOperationException();
    }

    /** The same steps over one long, where the state fits. */
    public static Optional<LongAlgorithm> asLong(RateLimitPolicy policy, Clock clock) {
        throw new UnsupportedOperationException();
    }
}
