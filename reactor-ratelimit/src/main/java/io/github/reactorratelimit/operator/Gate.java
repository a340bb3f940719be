package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.Verdict;
import org.jspecify.annotations.Nullable;
import reactor.core.CorePublisher;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Operators;

/**
 * The gate before a source: the subscription costs permits, and the source is not subscribed before it is allowed.
 * Permits of a concurrency limit are released when the subscription ends; with an account, permits are reserved
 * and settled when it ends.
 */
final class Gate<T> {

    private final GatedSource<T> gated;
    private final Asking.Source<T> askings;

    Gate(CorePublisher<? extends T> source, RateLimiter limiter, LimitSpec<T> spec, @Nullable Account<T> account) {
        boolean leased = account == null && limiter.policy().needsRelease();
        this.gated = new GatedSource<>(source, account, leased, spec.denial().of(limiter));
        this.askings = new Asking.Source<>(limiter, spec);
    }

    /** Subscribes to the source when that is allowed: directly, if it is allowed immediately. */
    void enter(CoreSubscriber<? super T> actual) {
        Asking<T> asking = askings.orFail(actual);
        if (asking == null) {
            return;
        }
        Verdict verdict;
        GateSubscriber<T> waiting = null;
        try {
            verdict = decideNow(asking);
            if (verdict == Verdict.UNKNOWN) {
                waiting = new GateSubscriber<>(actual, gated, asking);
            }
        } catch (Throwable refused) {
            Operators.error(actual, Operators.onOperatorError(refused, actual.currentContext()));
            return;
        }
        if (verdict == Verdict.TAKEN) {
            gated.source().subscribe(actual);
        } else if (waiting != null) {
            waiting.enter();
        } else if (verdict instanceof Decision decision && decision.allowed()) {
            new GateSubscriber<>(actual, gated, asking, decision).enter();
        } else if (verdict instanceof Decision denied) {
            turnAway(actual, denied);
        }
    }

    private Verdict decideNow(Asking<T> asking) {
        if (gated.account() != null) {
            return Verdict.UNKNOWN;
        }
        if (!gated.leased()) {
            return asking.decideNow();
        }
        Decision decision = asking.leaseNow();
        return decision == null ? Verdict.UNKNOWN : decision;
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
