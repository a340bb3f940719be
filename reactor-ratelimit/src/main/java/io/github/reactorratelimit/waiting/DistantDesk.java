package io.github.reactorratelimit.waiting;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;

/** What a line stands in front of when the state of its key is elsewhere. */
sealed interface DistantDesk permits BookingDesk, RemoteDesk {

    /** The time here, in nanoseconds of any origin. */
    long now();

    /** Gives back a debit that was handed over but not used. */
    void refund(Debit debit);

    /** A denial that nobody had to ask for; {@code retryAfterNanos} may be unknown. */
    Decision deny(long permits, long retryAfterNanos);
}
