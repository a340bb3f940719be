package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.RateLimitPolicy;

/**
 * A state as a decision reports it, in ticks.
 *
 * @param policy the policy that binds: of a composite one of its parts
 * @param limit what {@code remaining} is when nothing is spent
 * @param remaining permits that could be had at once
 * @param waitTicks 0 if the permits asked for are there, else the ticks until they are
 * @param resetTicks ticks until nothing is spent any more
 * @param moreTicks of an allowed request, ticks until {@code remaining} is larger; else, and if no time
 *     ends that, {@link Algorithm#UNKNOWN}
 */
public record Reading(
        RateLimitPolicy policy, long limit, long remaining, long waitTicks, long resetTicks, long moreTicks) {

    /** Whether the permits are (or were) there. */
    public boolean allowed() {
        return waitTicks == 0;
    }
}
