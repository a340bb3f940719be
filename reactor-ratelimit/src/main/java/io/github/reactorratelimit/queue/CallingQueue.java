package io.github.reactorratelimit.queue;

import io.github.reactorratelimit.algorithm.Algorithm;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * A queue that calls a store which answers later, one call at a time, as long as it has waiters.
 *
 * @param <W> its waiters
 */
public abstract class CallingQueue<W extends Waiter<?>> extends KeyQueue<W, WaiterList<W>> {

    /** The answer to the call in flight. Written by the store, taken by the drain loop. */
    private volatile @Nullable Object answer;

    /** The drain loop's, as is the field below. */
    private boolean inFlight;

    /** The next call is not made before this time. */
    protected long notBefore = Long.MIN_VALUE;

    protected CallingQueue(QueueRuntime runtime) {
        super(runtime, new WaiterList<>());
    }

    /** Calls the store for the waiters that are here. */
    protected abstract Mono<?> call();

    /** Handles the answer of a call, or its error. */
    protected abstract void take(Object received, long now);

    /** Whether a call is in flight. */
    protected final boolean isInFlight() {
        return inFlight;
    }

    /** What a call in flight brings must find a waiter, or be refunded. */
    @Override
    protected final boolean isBusy() {
        return inFlight;
    }

    @Override
    protected long serve(long now) {
        Object received = answer;
        if (received != null) {
            answer = null;
            inFlight = false;
            take(received, now);
        }
        expire(now);
        if (inFlight || waiters.size() == 0) {
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
        answer = received;
        signal();
    }
}
