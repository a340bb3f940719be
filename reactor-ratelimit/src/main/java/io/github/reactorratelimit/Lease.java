package io.github.reactorratelimit;

import reactor.core.publisher.Mono;

/** Permits of a {@link ConcurrencyLimit} in the hands of one holder, until it releases them. */
public interface Lease {

    /** The decision that granted the permits. */
    Decision decision();

    /**
     * Gives the permits back, once subscribed to; any number of subscriptions release once. The next
     * waiter is granted without running its code on this thread.
     */
    Mono<Void> release();
}
