package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.Reservation;
import io.github.reactorratelimit.Saturated;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

/**
 * What one subscription requests of its limiter. The key and cost of the subscriber are resolved when this is
 * made, those of an element when it arrives.
 */
final class SubscriptionTerms<T> {

    private final RateLimiter limiter;
    private final DirectLimiter direct;
    private final Duration maxWait;
    private final long maxWaitNanos;
    private final String subscriberKey;
    private final long subscriberCost;
    private final @Nullable Function<? super T, String> elementKey;
    private final @Nullable ToLongFunction<? super T> elementCost;

    private SubscriptionTerms(RateLimiter limiter, LimitSpec<T> spec, ContextView context) {
        this.limiter = limiter;
        this.direct = DirectLimiter.of(limiter);
        this.maxWait = spec.effectiveMaxWait();
        this.maxWaitNanos = Saturated.nanos(maxWait);
        this.elementKey = spec.key.ofElement();
        this.subscriberKey = spec.key.ofSubscriber(context);
        this.elementCost = spec.cost.ofElement();
        this.subscriberCost = spec.cost.ofSubscriber(context);
    }

    /**
     * The terms of an operator's subscribers: the same for all, unless something comes from their Context.
     */
    static final class Source<T> {

        private final RateLimiter limiter;
        private final LimitSpec<T> spec;
        private final @Nullable SubscriptionTerms<T> same;

        Source(RateLimiter limiter, LimitSpec<T> spec) {
            this.limiter = limiter;
            this.spec = spec;
            boolean fromContext = spec.key.ofContext() != null || spec.cost.ofContext() != null;
            this.same = fromContext ? null : new SubscriptionTerms<>(limiter, spec, Context.empty());
        }

        /** The terms of this subscriber; null if its functions failed: then it has got the error. */
        @Nullable
        SubscriptionTerms<T> orFail(CoreSubscriber<? super T> actual) {
            if (same != null) {
                return same;
            }
            try {
                return new SubscriptionTerms<>(limiter, spec, actual.currentContext());
            } catch (Throwable failure) {
                Operators.error(actual, Operators.onOperatorError(failure, actual.currentContext()));
                return null;
            }
        }
    }

    String keyOf(T element) {
        return elementKey == null
                ? subscriberKey
                : Objects.requireNonNull(elementKey.apply(element), "key of an element");
    }

    long costOf(T element) {
        return elementCost == null ? subscriberCost : CostRule.positive(elementCost.applyAsLong(element));
    }

    @Nullable
    Decision decideNow() {
        return decideNow(subscriberKey, subscriberCost);
    }

    /** Denies only if the stream does not wait. */
    @Nullable
    Decision decideNow(String key, long cost) {
        return direct.decideNow(key, cost, maxWaitNanos > 0);
    }

    void releaseNow(Decision leased) {
        direct.releaseNow(leased);
    }

    /** For the subscriber with this Context. */
    Mono<Decision> acquire(ContextView context) {
        return acquire(subscriberKey, subscriberCost, context);
    }

    /** The same for one element, that {@link #decideNow} could not decide. */
    Mono<Decision> acquire(String key, long cost, ContextView context) {
        return direct.decideLater(key, cost, maxWaitNanos, context);
    }

    Mono<Lease> acquireLease() {
        return limiter.acquireLease(subscriberKey, subscriberCost, maxWait);
    }

    Mono<Reservation> reserve() {
        return limiter.reserve(subscriberKey, subscriberCost, maxWait);
    }

    /** Refunds a decision that came too late to be used. */
    void refund(Decision decision) {
        if (decision.allowed()) {
            limiter.refund(decision).subscribe();
        }
    }
}
