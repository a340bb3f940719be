package io.github.reactorratelimit.waiting;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import reactor.core.publisher.Mono;

/** What a line stands in front of when the state of its key is elsewhere: it answers later. */
public interface RemoteDesk {

    /** The time here, in nanoseconds of any origin. */
    long now();

    /** When a pause of the key ends, as far as the last answer told, on the clock of {@link #now}; a time in the past if it is not paused. */
    long pausedUntil();

    /** Takes permits, or denies. One answer or one error, on any thread. */
    Mono<Decision> ask(long permits);

    /** Gives back a debit that was not used. */
    void refund(Debit debit);

    /** A denial that nobody had to ask for; {@code retryAfterNanos} may be unknown. */
    Decision deny(long permits, long retryAfterNanos);
}
