package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimiter;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.CorePublisher;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.util.context.ContextView;

/**
 * The gate before a source: the subscription costs permits, and the source is not subscribed before it is
 * allowed. Permits of a concurrency limit are released when the subscription ends; with a charge rule,
 * permits are reserved, and settled when it ends.
 */
final class Gate<T> {

    private final CorePublisher<? extends T> source;
    private final @Nullable ChargeRule<T> charge;
    private final boolean leased;
    private final Denial<T> denial;
    private final SubscriptionTerms.Source<T> termsOf;

    /** @param charge how the subscription is charged when it ends; null if its cost is known before */
    Gate(CorePublisher<? extends T> source, RateLimiter limiter, LimitSpec<T> spec, @Nullable ChargeRule<T> charge) {
        this.source = source;
        this.charge = charge;
        this.leased = charge == null && limiter.policy().needsRelease();
        this.denial = spec.denial().of(limiter);
        this.termsOf = new SubscriptionTerms.Source<>(limiter, spec);
    }

    CorePublisher<? extends T> source() {
        return source;
    }

    /** Subscribes to the source when that is allowed: directly, if it is allowed immediately. */
    void enter(CoreSubscriber<? super T> actual) {
        SubscriptionTerms<T> terms = termsOf.orFail(actual);
        if (terms == null) {
            return;
        }
        Decision decision;
        GateSubscriber<T> waiting = null;
        try {
            // Permits that must be settled are always requested.
            decision = charge == null ? terms.decideNow() : null;
            if (decision == null) {
                waiting = new GateSubscriber<>(actual, this, request(terms, actual.currentContext()));
            }
        } catch (Throwable refused) {
            Operators.error(actual, Operators.onOperatorError(refused, actual.currentContext()));
            return;
        }
        if (decision == null) {
            Objects.requireNonNull(waiting).enter();
        } else if (!decision.allowed()) {
            turnAway(actual, decision);
        } else if (leased) {
            Decision held = decision;
            new GateSubscriber<T>(actual, this, () -> terms.releaseNow(held)).enter();
        } else {
            source.subscribe(actual);
        }
    }

    /** Requests the permits of one subscription. */
    private Mono<? extends GatePermits<T>> request(SubscriptionTerms<T> terms, ContextView context) {
        ChargeRule<T> settledBy = charge;
        if (settledBy != null) {
            return terms.reserve().map(reservation -> new ReservedPermits<>(reservation, settledBy, isSingle()));
        }
        return leased
                ? terms.acquireLease().map(lease ->
                        (GatePermits.Leased<T>) () -> lease.release().subscribe())
                : terms.acquire(context).map(decision -> new GatePermits.Spent<>(terms, decision));
    }

    private void turnAway(CoreSubscriber<? super T> actual, Decision decision) {
        CorePublisher<? extends T> other;
        try {
            if (denial instanceof Denial.Fail) {
                // Not thrown: an exception that is only passed on costs less.
                Throwable exceeded = denial.exceeded(decision);
                Operators.error(actual, Operators.onOperatorError(exceeded, actual.currentContext()));
                return;
            }
            other = insteadOfSource(decision);
        } catch (Throwable failure) {
            Operators.error(actual, Operators.onOperatorError(failure, actual.currentContext()));
            return;
        }
        other.subscribe(actual);
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
