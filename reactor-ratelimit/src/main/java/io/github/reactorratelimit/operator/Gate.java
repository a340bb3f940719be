package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimiter;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import reactor.core.CorePublisher;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Operators;

/**
 * The gate before a source: the subscription costs permits, and the source is not subscribed before it is
 * allowed. Permits of a concurrency limit are released when the subscription ends; with a charge rule,
 * permits are reserved, and settled when it ends.
 */
final class Gate<T> {

    private final GatedSource<T> gated;
    private final SubscriptionTerms.Source<T> termsOf;

    Gate(CorePublisher<? extends T> source, RateLimiter limiter, LimitSpec<T> spec, @Nullable ChargeRule<T> charge) {
        boolean leased = charge == null && limiter.policy().needsRelease();
        this.gated = new GatedSource<>(source, charge, leased, spec.denial().of(limiter));
        this.termsOf = new SubscriptionTerms.Source<>(limiter, spec);
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
            decision = gated.decideNow(terms);
            if (decision == null) {
                waiting = new GateSubscriber<>(actual, gated, gated.request(terms));
            }
        } catch (Throwable refused) {
            Operators.error(actual, Operators.onOperatorError(refused, actual.currentContext()));
            return;
        }
        if (decision == null) {
            Objects.requireNonNull(waiting).enter();
        } else if (!decision.allowed()) {
            turnAway(actual, decision);
        } else if (gated.leased()) {
            Decision leased = decision;
            new GateSubscriber<T>(actual, gated, () -> terms.releaseNow(leased)).enter();
        } else {
            gated.source().subscribe(actual);
        }
    }

    private void turnAway(CoreSubscriber<? super T> actual, Decision decision) {
        CorePublisher<? extends T> other;
        try {
            // Not thrown: an exception that is only passed on costs less.
            if (gated.denial() instanceof Denial.Fail) {
                Throwable exceeded = gated.denial().exceeded(decision);
                Operators.error(actual, Operators.onOperatorError(exceeded, actual.currentContext()));
                return;
            }
            other = gated.insteadOfSource(decision);
        } catch (Throwable failure) {
            Operators.error(actual, Operators.onOperatorError(failure, actual.currentContext()));
            return;
        }
        if (other == null) {
            Operators.complete(actual);
        } else {
            other.subscribe(actual);
        }
    }
}
