package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitExceededException;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.CorePublisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * A source that costs permits to subscribe to.
 *
 * @param account how the subscription is charged when it ends; null if its cost is known before
 * @param leased whether the permits are those of a concurrency limit, and come back when the subscription ends
 */
record GatedSource<T>(
        CorePublisher<? extends T> source, @Nullable Account<T> account, boolean leased, Denial<T> denial) {

    /** Whether the source is a Mono, whose value ends it. */
    boolean single() {
        return source instanceof Mono;
    }

    /**
     * What is subscribed to instead of a denied source: null for nothing.
     *
     * @throws RateLimitExceededException if a denial is an error
     */
    @Nullable
    CorePublisher<? extends T> insteadOfSource(Decision denied) {
        Publisher<? extends T> fallback = denial.insteadOfSource(denied);
        if (fallback == null) {
            return null;
        }
        return single() ? Mono.from(fallback) : Flux.from(fallback);
    }
}
