package io.github.reactorratelimit.queue;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;

/** The state of one key in a store that answers later, as its queue sees it. */
public interface RemoteKey {

    /** The time here, in nanoseconds of any origin. */
    long now();

    /** Gives back a debit that was granted but not used. */
    void refund(Debit debit);

    /** A denial without a call to the store; {@code retryAfterNanos} may be unknown. */
    Decision deny(long permits, long retryAfterNanos);
}
