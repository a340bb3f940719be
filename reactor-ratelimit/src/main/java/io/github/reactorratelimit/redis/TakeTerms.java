package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.Rate;
import io.github.reactorratelimit.algorithm.Tick;
import org.jspecify.annotations.Nullable;

/**
 * A GCRA or token bucket that is full when a key is new, as takes.lua knows it. Works out of the parts that a key owes what the
 * script does not say of each take; all of them are whole numbers below 2^53. Twin of BucketArithmetic.java: change both, or neither.
 *
 * @param policy the policy
 * @param partsPerTick parts that flow back in a microsecond
 * @param partsPerPermit parts that a permit costs
 * @param mostParts the most that a key can owe
 */
record TakeTerms(RateLimitPolicy policy, long partsPerTick, long partsPerPermit, long mostParts) {

    /** Null if the policy is none of these. */
    static @Nullable TakeTerms of(RateLimitPolicy policy) {
        boolean isQueue = policy.queueCapacity() < Long.MAX_VALUE;
        Rate rate = isQueue ? null : Algorithms.rate(policy, Tick.MICROSECOND).orElse(null);
        return rate != null && rate.missingParts() == 0
                ? new TakeTerms(
                        policy, rate.partsPerTick(), rate.partsPerPermit(), policy.capacity() * rate.partsPerPermit())
                : null;
    }

    long cost(long permits) {
        return permits * partsPerPermit;
    }

    /** A take that was allowed; {@code owedParts} after it. */
    Decision allow(Object owner, String key, long permits, long owedParts, long nowMicros) {
        return Decision.allow(policy, quota(owedParts), new Debit(owner, key, policy, permits, nowMicros));
    }

    /** A take that was denied; {@code owedParts} is what stood in its way. */
    Decision deny(long permits, long owedParts) {
        return deny(permits, permits, owedParts);
    }

    /** As above, where so many of the permits were {@code missing}; others may already have asked for more than there is. */
    Decision deny(long permits, long missing, long owedParts) {
        long excess = owedParts + cost(missing) - mostParts;
        return Decision.deny(policy, permits, quota(owedParts), nanos(excess));
    }

    /** What is still owed so many microseconds later. */
    long owedAfter(long owedParts, long ticks) {
        return ticks > owedParts / partsPerTick ? 0 : owedParts - ticks * partsPerTick;
    }

    private Decision.Quota quota(long owedParts) {
        long free = Math.max(0, mostParts - owedParts);
        long remaining = free / partsPerPermit;
        long missing = owedParts - (mostParts - cost(remaining + 1));
        long more = remaining < policy.capacity() ? nanos(missing) : Decision.Quota.UNKNOWN;
        return new Decision.Quota(policy.capacity(), remaining, nanos(owedParts), more);
    }

    /** Rounded up to whole ticks: a tick too early is a tick too lax. */
    private long nanos(long parts) {
        return Tick.MICROSECOND.toNanos(parts == 0 ? 0 : (parts - 1) / partsPerTick + 1);
    }
}
