package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimiter;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.CorePublisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.util.context.ContextView;

/**
 * The gate before a source: the subscription costs permits, and the source is not subscribed before it is
 * allowed. Permits of a concurrency limit are released when the subscription ends; with a charge rule,
 * permits are reserved, and settled when it ends.
 */
final class Gate<T> {

    private final CorePublisher<? extends T> source;

    /** How the subscription is charged when it ends; null if its cost is known before. */
    private final @Nullable ChargeRule<T> charge;

    private final boolean leased;
    private final Denial<T> denial;
    final SubscriptionTerms.Source<T> termsOf;

    Gate(CorePublisher<? extends T> source, RateLimiter limiter, LimitSpec<T> spec) {
        this.source = source;
        this.charge = spec.charge.isKnownBefore() ? null : spec.charge;
        this.leased = charge == null && limiter.policy().needsRelease();
        this.denial = spec.denial.of(limiter);
        this.termsOf = new SubscriptionTerms.Source<>(limiter, spec);
    }

    CorePublisher<? extends T> source() {
        return source;
    }

    /** Decides on the fast path; null if only {@link #request} can. Permits to be settled are always requested. */
    @Nullable
    Decision decideNow(SubscriptionTerms<T> terms) {
        return charge == null ? terms.decideNow() : null;
    }

    /** Whether the permits are those of a concurrency limit, and come back when the subscription ends. */
    boolean isLeased() {
        return leased;
    }

    /** The error of a denial that is one; null if something else is subscribed to then. */
    @Nullable
    Throwable errorOf(Decision denied) {
        return denial.isError() ? denial.exceeded(denied) : null;
    }

    /** Requests the permits of one subscription. */
    Mono<? extends GatePermits<T>> request(SubscriptionTerms<T> terms, ContextView context) {
        ChargeRule<T> settledBy = charge;
        if (settledBy != null) {
            return terms.reserve().map(reservation -> new ReservedPermits<>(reservation, settledBy, isSingle()));
        }
        return leased
                ? terms.acquireLease().map(lease ->
                        (GatePermits.Leased<T>) () -> lease.release().subscribe())
                : terms.acquire(context).map(decision -> new GatePermits.Spent<>(terms, decision));
    }

    /**
     * What is subscribed to instead of a denied source.
     *
     * @throws RateLimitExceededException if a denial is an error
     */
    CorePublisher<? extends T> insteadOfSource(Decision denied) {
        Publisher<? extends T> fallback = denial.insteadOfSource(denied);
        return isSingle() ? Mono.from(fallback) : Flux.from(fallback);
    }

    /** Whether the source is a Mono, whose value ends it. */
    private boolean isSingle() {
        return source instanceof Mono;
    }
}
