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
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;
import reactor.util.context.ContextView;

/**
 * Observes decisions: begins when they are asked for, below the observation of the request, and ends with the answer, before anything
 * else is done with the request. Where nobody watches, or this observation is turned off, a decision is left as it is.
 *
 * @param convention null for the default one
 */
record DecisionObserver(
        ObservationRegistry registry, @Nullable RateLimitObservationConvention convention) {

    static final DecisionObserver NONE = new DecisionObserver(ObservationRegistry.NOOP, null);

    private static final RateLimitObservationConvention DEFAULT = new DefaultRateLimitObservationConvention();

    /** Whether nobody watches. */
    boolean isIdle() {
        return registry.isNoop();
    }

    /**
     * The same decision, observed.
     *
     * @param denial what an answer says; null if the request may pass
     */
    <T> Mono<T> observed(
            Mono<T> decision,
            List<RateLimitRule> rules,
            @Nullable ServerWebExchange exchange,
            Function<T, @Nullable RateLimitDenial> denial) {
        if (isIdle()) {
            return decision;
        }
        return Mono.deferContextual(around -> {
            Watched watched = begin(rules, exchange, around);
            if (watched.observation.isNoop()) {
                return decision;
            }
            return decision.doOnNext(answer -> watched.end(denial.apply(answer)))
                    .doOnError(watched::fail)
                    .doOnTerminate(watched::end)
                    .doOnCancel(watched::end)
                    .contextWrite(context -> context.put(ObservationThreadLocalAccessor.KEY, watched.observation));
        });
    }

    private Watched begin(List<RateLimitRule> rules, @Nullable ServerWebExchange exchange, ContextView around) {
        RateLimitObservationContext context = new RateLimitObservationContext(
                rules.stream().map(RateLimitRule::name).toList(), exchange);
        Observation observation =
                RateLimitObservation.REQUEST.observation(convention, DEFAULT, () -> context, registry);
        if (around.getOrDefault(ObservationThreadLocalAccessor.KEY, null) instanceof Observation parent) {
            observation.parentObservation(parent);
        }
        return new Watched(observation.start(), context);
    }

    /** Ends once: an answer and a client that leaves may meet. */
    private static final class Watched {

        private final Observation observation;
        private final RateLimitObservationContext context;
        private final AtomicBoolean ended = new AtomicBoolean();

        Watched(Observation observation, RateLimitObservationContext context) {
            this.observation = observation;
            this.context = context;
        }

        void end(@Nullable RateLimitDenial denial) {
            if (denial == null) {
                end(Outcome.ALLOWED, null);
            } else {
                end(outcome(denial), denial.rule().name());
            }
        }

        /** Without an answer: the client left. */
        void end() {
            end(Outcome.CANCELLED, null);
        }

        void fail(Throwable error) {
            if (ended.compareAndSet(false, true)) {
                context.end(Outcome.ERROR, null);
                observation.error(error);
                observation.stop();
            }
        }

        private void end(Outcome outcome, @Nullable String limit) {
            if (ended.compareAndSet(false, true)) {
                context.end(outcome, limit);
                observation.stop();
            }
        }

        private static Outcome outcome(RateLimitDenial denial) {
            return switch (denial.reason()) {
                case LIMITED, TOO_COSTLY -> Outcome.DENIED;
                case MISSING_KEY -> Outcome.MISSING_KEY;
                case UNAVAILABLE -> Outcome.UNAVAILABLE;
            };
        }
    }
}
