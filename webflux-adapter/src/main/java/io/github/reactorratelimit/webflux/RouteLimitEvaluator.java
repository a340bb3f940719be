package io.github.reactorratelimit.webflux;

import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/**
 * Evaluates one rule for a key that the caller has resolved, and leaves the response to the caller: for gateways. The
 * rule need not belong to the engine. Its conditions, its own key and the engine's exemptions do not apply.
 *
 * <p>If the request is known, it is the same request that filters and handlers have evaluated: a denial refunds what
 * other rules granted, a rule that has allowed the request counts it once, by the key of that time, and the fields about
 * limits move from the response into the result. On Reactor Netty the result comes on the event loop of the connection,
 * if that is where the evaluation begins.
 */
public final class RouteLimitEvaluator {

    private final RateLimitEngine engine;

    /** @param engine says which header fields are sent and where decisions are observed */
    public RouteLimitEvaluator(RateLimitEngine engine) {
        this.engine = Objects.requireNonNull(engine, "engine");
    }

    /**
     * Evaluates the rule. Cancelling before there is a result costs nothing.
     *
     * @param exchange null if the request is not known; then the result may come on any thread
     * @throws IllegalArgumentException if the rule needs more than a key: it has a {@code ConcurrencyLimit}, counts by
     *     outcome, or has a cost by request
     */
    public Mono<RateLimitResult> evaluate(RateLimitRule rule, String key, @Nullable ServerWebExchange exchange) {
        Objects.requireNonNull(key, "key");
        rule.requireFixedCost();
        return Mono.defer(() -> {
            RequestPermits permits = exchange == null ? new RequestPermits() : RequestPermits.of(exchange);
            List<RateLimitRule> pending = permits.begin(List.of(rule));
            return (pending.isEmpty()
                            ? Mono.just(new RateLimitResult(null, permits.grants()))
                            : engine.observe(exchange, pending, permits, key))
                    .map(result -> withHeaders(result, exchange));
        });
    }

    private RateLimitResult withHeaders(RateLimitResult result, @Nullable ServerWebExchange exchange) {
        if (exchange != null && !exchange.getResponse().isCommitted()) {
            RateLimitHeaderWriter.remove(exchange.getResponse().getHeaders());
        }
        HttpHeaders headers = new HttpHeaders();
        RateLimitDenial denial = result.denial();
        if (denial == null) {
            engine.headerWriter().writeAllowed(result.grants(), headers);
            return new RateLimitResult(null, result.grants(), headers);
        }
        return new RateLimitResult(
                engine.headerWriter().writeDenied(denial, result.grants(), headers), result.grants(), headers);
    }
}
