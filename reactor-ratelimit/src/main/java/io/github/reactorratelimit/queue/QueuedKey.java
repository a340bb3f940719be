package io.github.reactorratelimit.queue;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.algorithm.Algorithm;

/** A request for permits of a key, which is answered by a decision. */
public interface QueuedKey extends QueuedRequest {

    /** Gives back a debit that was granted but not used. */
    void refund(Debit debit);

    /** A denial of permits that would be granted at {@code grantedAt}, {@link Algorithm#UNKNOWN} if that is not known. */
    Decision deny(long now, long permits, long grantedAt);

    @Override
    default void giveBack(Object undelivered) {
        ((Decision) undelivered).debit().filter(Debit::claim).ifPresent(this::refund);
    }

    /** The retry-after of such a denial, in nanoseconds. */
    static long retryAfter(long now, long grantedAt) {
        return grantedAt == Algorithm.UNKNOWN ? grantedAt : Math.max(1, grantedAt - now);
    }
}
