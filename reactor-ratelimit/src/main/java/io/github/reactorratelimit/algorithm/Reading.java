package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.RateLimitPolicy;

/**
 * The numbers of a decision, in ticks.
 *
 * @param policy the policy that binds: of a composite one of its parts
 * @param remaining permits that are available now
 * @param waitTicks 0 if the requested permits are available, else the ticks until they are
 * @param resetTicks ticks until the key has recovered
 * @param moreTicks of an allowed request, ticks until {@code remaining} is larger; {@link Algorithm#UNKNOWN}
 *     of a denied one, and if no time raises it
 */
public record Reading(RateLimitPolicy policy, long remaining, long waitTicks, long resetTicks, long moreTicks) {

    /** Whether the permits are, or were, available. */
    public boolean allowed() {
        return waitTicks == 0;
    }
}
