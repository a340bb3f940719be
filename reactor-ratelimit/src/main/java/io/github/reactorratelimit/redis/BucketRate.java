package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Rate;

/**
 * A GCRA or token bucket that is full when a key is new. To acquires of these the script replies only how
 * many it allowed and what the key owes then; this works out the rest. Twin of BucketArithmetic.java: change
 * both, or neither.
 *
 * @param partsPerTick parts that flow back in a microsecond
 * @param partsPerPermit parts that a permit costs
 * @param mostParts the most that a key can owe
 */
record BucketRate(long capacity, long partsPerTick, long partsPerPermit, long mostParts) {

    static BucketRate of(RateLimitPolicy policy, Rate rate) {
        long capacity = policy.capacity();
        return new BucketRate(capacity, rate.partsPerTick(), rate.partsPerPermit(), capacity * rate.partsPerPermit());
    }

    long costParts(long permits) {
        return permits * partsPerPermit;
    }

    /** @param owedParts after the permits were debited, or while they were denied */
    CommandReply reply(
            Command command, ScriptPolicy policy, CommandReply.KeyStatus key, boolean allowed, long owedParts) {
        long remaining = Math.max(0, mostParts - owedParts) / partsPerPermit;
        long missing = owedParts - (mostParts - costParts(remaining + 1));
        boolean comesMore = allowed && remaining < capacity;
        long excess = owedParts + costParts(command.permits()) - mostParts;
        return new CommandReply(
                command,
                policy,
                key,
                allowed,
                remaining,
                allowed ? 0 : ticks(excess),
                ticks(owedParts),
                0,
                comesMore ? ticks(missing) : Algorithm.UNKNOWN,
                false,
                0,
                "");
    }

    /** Rounded up: a tick too early is a tick too lax. */
    long ticks(long parts) {
        return parts <= 0 ? 0 : (parts - 1) / partsPerTick + 1;
    }
}
