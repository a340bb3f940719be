package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.RateLimitPolicy;

/**
 * The integers in which a continuous rate is counted, for its twin in another language: what a key owes
 * is measured in parts of a tick.
 *
 * @param partsPerTick parts that flow back each tick
 * @param partsPerPermit parts that a permit costs
 * @param missingParts parts that a key owes when the limiter starts
 */
public record Rate(long partsPerTick, long partsPerPermit, long missingParts) {

    /**
     * The rate of a GCRA, a leaky bucket or a token bucket with continuous refill.
     *
     * @throws IllegalArgumentException if it cannot be kept to the promised 0.1 % at this tick, or if the
     *     policy is of another kind
     */
    public static Rate of(RateLimitPolicy policy, Tick tick) {
        Meter meter = Algorithms.meter(policy, tick);
        return new Rate(meter.partsPerTick, meter.partsPerPermit, Algorithms.missingParts(policy, meter));
    }
}
