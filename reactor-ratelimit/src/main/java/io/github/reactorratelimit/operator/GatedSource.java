package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitExceededException;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.CorePublisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * A source that costs permits to subscribe to, and how they are requested.
 *
 * @param charge how the subscription is charged when it ends; null if its cost is known before
 * @param leased whether the permits are those of a concurrency limit, and come back when the subscription
 *     ends
 */
record GatedSource<T>(
        CorePublisher<? extends T> source, @Nullable ChargeRule<T> charge, boolean leased, Denial<T> denial) {

    /** Whether the source is a Mono, whose value ends it. */
    private boolean single() {
        return source instanceof Mono;
    }

    /**
     * Decides on the fast path; null if only {@link #request} can. Permits that must be settled are always
     * requested.
     */
    @Nullable
    Decision decideNow(SubscriptionTerms<T> terms) {
        return charge == null ? terms.decideNow() : null;
    }

    /** Requests the permits of one subscription. */
    Mono<? extends GatePermits<T>> request(SubscriptionTerms<T> terms) {
        ChargeRule<T> settledBy = charge;
        if (settledBy != null) {
            return terms.reserve().map(reservation -> new ReservedPermits<>(reservation, settledBy, single()));
        }
        return leased
                ? terms.acquireLease().map(lease ->
                        (GatePermits.Leased<T>) () -> lease.release().subscribe())
                : terms.acquire().map(decision -> new GatePermits.Spent<>(terms, decision));
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
