package io.github.reactorratelimit.webflux.client;

import org.jspecify.annotations.Nullable;

/**
 * What a server says that is left.
 *
 * @param remaining calls, perhaps none
 * @param seconds until there are more, rounded up
 * @param endless whether as many are given every so many seconds, rather than these once
 * @param policy the rate at which calls come back; null if it is unknown
 */
record Quota(
        long remaining,
        long seconds,
        boolean endless,
        @Nullable Quota policy) {

    private static final long SECOND = 1_000_000_000;

    /**
     * The time of each remaining call: they are spread evenly until there are more. Because that time is rounded up to
     * seconds, the policy decides within its last second.
     *
     * @param until nanoseconds until there are more
     */
    long paceNanos(long until) {
        long even = ceilDiv(until, remaining);
        return policy == null
                ? even
                : Math.max(Math.max(0, until - SECOND) / remaining, Math.min(even, policy.eachNanos()));
    }

    /**
     * The pause if nothing is left: until there is more, or one interval of the policy if that ends in the last second.
     *
     * @param until nanoseconds until there are more
     */
    long pauseNanos(long until) {
        long interval = policy == null ? Long.MAX_VALUE : policy.eachNanos();
        return interval <= until && interval > until - SECOND ? interval : until;
    }

    private long eachNanos() {
        return seconds > Long.MAX_VALUE / SECOND ? Long.MAX_VALUE : ceilDiv(seconds * SECOND, remaining);
    }

    private static long ceilDiv(long nanos, long calls) {
        return -Math.floorDiv(-nanos, calls);
    }
}
