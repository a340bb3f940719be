package io.github.reactorratelimit;

import reactor.core.publisher.Mono;

/**
 * Permits of a {@link ConcurrencyLimit} that one holder has until it releases them.
 *
 * <pre>{@code
 * Flux.usingWhen(limiter.acquireLease("db", 1, Duration.ofSeconds(1)), lease -> query, Lease::release);
 * }</pre>
 */
public interface Lease {

    /** The decision that granted the permits. */
    Decision decision();

    /**
     * Gives the permits back when subscribed to; any number of subscriptions release once. The next waiter is
     * granted without running its code on this thread.
     */
    Mono<Void> release();
}
