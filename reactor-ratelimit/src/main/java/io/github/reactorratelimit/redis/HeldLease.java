package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.algorithm.Tick;

/**
 * A lease of this process.
 *
 * @param key whose permits
 * @param number which tells the leases of a limiter apart
 * @param permits how many
 * @param member its name in Redis: {@code holder.number permits micros}
 */
record HeldLease(String key, long number, long permits, String member) {

    /** @param holder tells the limiters of all processes apart */
    static HeldLease of(String holder, String key, long number, long permits, ConcurrencyLimit limit) {
        long micros = Tick.MICROSECOND.ticks("lease", limit.lease());
        return new HeldLease(key, number, permits, holder + "." + number + " " + permits + " " + micros);
    }
}
