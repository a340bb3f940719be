package io.github.reactorratelimit.queue;

import io.github.reactorratelimit.Decision;
import reactor.core.publisher.Mono;

/** A key whose head requests permits from the store, again and again. */
public interface RetryingKey extends RemoteKey {

    /** When a pause of the key ends by the last answer, on the clock of {@link #now}; a time in the past if it is not paused. */
    long pausedUntil();

    /** Permits that may wait here. */
    default long queueCapacity() {
        return Long.MAX_VALUE;
    }

    /** Debits permits, or denies. One answer or one error, on any thread. */
    Mono<Decision> ask(long permits);
}
