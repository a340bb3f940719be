package io.github.reactorratelimit.queue;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.algorithm.Algorithm;

/** The state of one key, as its queue sees it. Times are nanoseconds of any origin. */
public interface QueuedKey {

    /** The time. */
    long now();

    /** Gives back a debit that was granted but not used. */
    void refund(Debit debit);

    /** A denial of permits that would be granted at {@code grantedAt}, {@link Algorithm#UNKNOWN} if that is not known. */
    Decision deny(long now, long permits, long grantedAt);

    /** The retry-after of such a denial, in nanoseconds. */
    static long retryAfter(long now, long grantedAt) {
        return grantedAt == Algorithm.UNKNOWN ? grantedAt : Math.max(1, grantedAt - now);
    }
}
