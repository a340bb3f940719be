package io.github.reactorratelimit.queue;

import io.github.reactorratelimit.Decision;
import reactor.core.publisher.Mono;

/** A key whose head requests permits from a store that answers later, and again after each denial. */
public interface RetryingKey extends QueuedKey {

    /** When a pause of the key ends, as far as it is known here; a time in the past if it is not paused. */
    long pausedUntil();

    /** Permits that may wait here. */
    default long queueCapacity() {
        return Long.MAX_VALUE;
    }

    /** Debits permits, or denies. One decision or one error, on any thread. */
    Mono<Decision> request(long permits);
}
