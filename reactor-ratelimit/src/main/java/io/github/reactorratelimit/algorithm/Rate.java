package io.github.reactorratelimit.algorithm;

/**
 * The integers of a continuous rate, for its twin in another language: a deficit is counted in parts of a
 * tick. See {@link Algorithms#rate}.
 *
 * @param partsPerTick parts that flow back each tick
 * @param partsPerPermit parts that a permit costs
 * @param missingParts parts that a key owes when the limiter starts
 */
public record Rate(long partsPerTick, long partsPerPermit, long missingParts) {}
