package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.RateLimiter;
import java.util.function.UnaryOperator;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Puts the operator that a spec asks for on a source; refuses contradictions as early as they can be seen.
 */
final class LimitRate<T> implements UnaryOperator<Publisher<T>> {

    private final RateLimiter limiter;
    private final LimitSpec<T> spec;

    LimitRate(RateLimiter limiter, LimitSpec<T> spec) {
        this.limiter = limiter;
        this.spec = spec;
        if (spec.maxHeld.isPresent()) {
            checkUnordered();
        }
        if (spec.perSubscription) {
            checkGate("perSubscription()");
        }
        ChargeRule<T> charge = spec.charge;
        if (!charge.isKnownBefore() && !limiter.policy().settles()) {
            throw new IllegalArgumentException(
                    "what " + limiter.policy() + " gave out cannot be settled: use a token bucket, a GCRA or a window");
        }
        if (charge.cancelIsFree() && charge.ofOutcome() == null) {
            throw new IllegalArgumentException(
                    "giveBackOnCancel() is about calls that are charged by their outcome: say how,"
                            + " with charge(...), chargeWhen(...), chargeOnError() or chargeOnSuccess()");
        }
    }

    @Override
    public Publisher<T> apply(Publisher<T> source) {
        if (source instanceof Mono<T> mono) {
            if (spec.maxHeld.isPresent()) {
                throw new IllegalArgumentException(
                        "unordered(n) is for a Flux: a Mono has no other element that could overtake; leave it out");
            }
            checkGate("a Mono");
            return new MonoGate<>(mono, limiter, spec);
        }
        Flux<T> flux = Flux.from(source);
        if (spec.perSubscription) {
            return new FluxGate<>(flux, limiter, spec);
        }
        if (!spec.charge.isKnownBefore()) {
            throw new IllegalArgumentException(
                    "elements of a Flux have no outcome to be charged by: use perSubscription(), or"
                            + " charge the work on each element with flatMap(x -> work(x).transform(limitRate(limiter, ...)))");
        }
        checkElements();
        return new FluxLimitElements<>(flux, limiter, spec);
    }

    private void checkUnordered() {
        if (spec.effectiveMaxWait().isZero()) {
            throw new IllegalArgumentException(
                    "unordered(n) needs elements that wait, but maxWait is zero: give a maxWait"
                            + " or leave unordered(n) out");
        }
        if (spec.perSubscription) {
            throw new IllegalArgumentException("unordered(n) is about elements, but perSubscription() limits the"
                    + " subscription: leave one of them out");
        }
    }

    private void checkGate(String what) {
        if (spec.key.ofElement() != null) {
            throw new IllegalArgumentException("key of an element cannot be used with " + what
                    + ", whose elements come after the permit: use key(\"...\") or keyFromContext(context -> ...)");
        }
        if (spec.cost.ofElement() != null) {
            throw new IllegalArgumentException("cost of an element cannot be used with " + what
                    + ", whose elements come after the permit: use cost(n) or costFromContext(context -> ...)");
        }
        if (!spec.denial.isError() && spec.denial.ofSource() == null) {
            throw new IllegalArgumentException(
                    "drop((element, decision) -> ...) and fallback((element, decision) -> ...)"
                            + " cannot be used with " + what
                            + ", which is denied before there is an element: use drop() or"
                            + " fallback(decision -> publisher)");
        }
    }

    private void checkElements() {
        if (limiter.policy().needsRelease()) {
            throw new IllegalArgumentException("a ConcurrencyLimit cannot limit elements, which have no end that would"
                    + " give the permit back: use perSubscription(), or limit the work on each element with"
                    + " flatMap(x -> work(x).transform(limitRate(limiter)))");
        }
        if (!spec.denial.isError() && spec.denial.ofElement() == null) {
            throw new IllegalArgumentException(
                    "fallback(decision -> publisher) cannot replace one element of a Flux: use"
                            + " fallback((element, decision) -> other), or perSubscription() to limit the subscription");
        }
    }
}
