package io.github.reactorratelimit.waiting;

import io.github.reactorratelimit.Decision;
import reactor.core.publisher.Mono;

/** What a line stands in front of when the state of its key is elsewhere: it answers later. */
public non-sealed interface RemoteDesk extends DistantDesk {

    /** When a pause of the key ends, as far as the last answer told, on the clock of {@link #now}; a time in the past if it is not paused. */
    long pausedUntil();

    /** Takes permits, or denies. One answer or one error, on any thread. */
    Mono<Decision> ask(long permits);
}
