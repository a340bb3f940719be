package io.github.reactorratelimit.queue;

import io.github.reactorratelimit.algorithm.Algorithm;
import reactor.core.publisher.Mono;

/**
 * A queue that calls a store which answers later, one call at a time, as long as it has waiters.
 *
 * @param <R> what its waiters request
 */
public abstract class CallingQueue<R extends QueuedRequest> extends KeyQueue<R> {

    /** The drain loop's, as is the field below. */
    private boolean inFlight;

    /** The next call is not made before this time. */
    protected long notBefore = Long.MIN_VALUE;

    protected CallingQueue(QueueRuntime runtime, R key) {
        super(runtime, key);
    }

    /** Calls the store for the waiters that are here. */
    protected abstract Mono<?> call();

    /** Handles the answer of a call, or its error. */
    protected abstract void take(Object received, long now);

    /** Whether a call is in flight. What it brings must find a waiter, or be given back. */
    @Override
    protected final boolean isBusy() {
        return inFlight;
    }

    @Override
    protected long serve(long now) {
        if (inFlight || size() == 0) {
            return Algorithm.UNKNOWN;
        }
        if (notBefore > now) {
            return notBefore;
        }
        inFlight = true;
        Mono.<Object>defer(this::call)
                .switchIfEmpty(Mono.error(() -> new IllegalStateException("the store gave no answer")))
                .subscribe(this::answered, this::answered);
        return Algorithm.UNKNOWN;
    }

    private void answered(Object received) {
        post(now -> {
            inFlight = false;
            take(received, now);
        });
    }
}
