package io.github.reactorratelimit.webflux;

import io.github.reactorratelimit.webflux.observation.DefaultRateLimitObservationConvention;
import io.github.reactorratelimit.webflux.observation.RateLimitObservation;
import io.github.reactorratelimit.webflux.observation.RateLimitObservationContext;
import io.github.reactorratelimit.webflux.observation.RateLimitObservationContext.Outcome;
import io.github.reactorratelimit.webflux.observation.RateLimitObservationConvention;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.contextpropagation.ObservationThreadLocalAccessor;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/**
 * Observes decisions, as children of the observation of the request: from the evaluation to its result, before
 * anything else happens to the request.
 *
 * @param convention null for the default one
 */
record DecisionObserver(
        ObservationRegistry registry, @Nullable RateLimitObservationConvention convention) {

    private static final RateLimitObservationConvention DEFAULT = new DefaultRateLimitObservationConvention();

    /** Whether nothing is observed. */
    boolean isIdle() {
        return registry.isNoop();
    }

    /** The same decision, observed. */
    Mono<RateLimitResult> observed(
            Mono<RateLimitResult> decision, List<RateLimitRule> rules, @Nullable ServerWebExchange exchange) {
        return Mono.deferContextual(outer -> {
            RateLimitObservationContext context = new RateLimitObservationContext(
                    rules.stream().map(RateLimitRule::name).toList(), exchange);
            Observation observation =
                    RateLimitObservation.REQUEST.observation(convention, DEFAULT, () -> context, registry);
            if (outer.getOrDefault(ObservationThreadLocalAccessor.KEY, null) instanceof Observation parent) {
                observation.parentObservation(parent);
            }
            observation.start();
            return observation.isNoop() ? decision : observed(decision, observation, context);
        });
    }

    /** Stops the observation once: a result and a cancellation may race. */
    private static Mono<RateLimitResult> observed(
            Mono<RateLimitResult> decision, Observation observation, RateLimitObservationContext context) {
        AtomicBoolean ended = new AtomicBoolean();
        Runnable cancelled = () -> end(ended, observation, context, Outcome.CANCELLED, null);
        return decision.doOnNext(result -> {
                    RateLimitDenial denial = result.denial();
                    end(ended, observation, context, outcome(denial), denial == null ? null : denial.rule());
                })
                .doOnError(error -> {
                    observation.error(error);
                    end(ended, observation, context, Outcome.ERROR, null);
                })
                .doOnTerminate(cancelled)
                .doOnCancel(cancelled)
                .contextWrite(inner -> inner.put(ObservationThreadLocalAccessor.KEY, observation));
    }

    private static void end(
            AtomicBoolean ended,
            Observation observation,
            RateLimitObservationContext context,
            Outcome outcome,
            @Nullable RateLimitRule deniedBy) {
        if (ended.compareAndSet(false, true)) {
            context.end(outcome, deniedBy == null ? null : deniedBy.name());
            observation.stop();
        }
    }

    private static Outcome outcome(@Nullable RateLimitDenial denial) {
        if (denial == null) {
            return Outcome.ALLOWED;
        }
        return switch (denial.reason()) {
            case LIMITED, TOO_COSTLY -> Outcome.DENIED;
            case MISSING_KEY -> Outcome.MISSING_KEY;
            case UNAVAILABLE -> Outcome.UNAVAILABLE;
        };
    }
}
