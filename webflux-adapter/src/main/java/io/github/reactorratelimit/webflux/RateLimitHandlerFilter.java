package io.github.reactorratelimit.webflux;

import java.util.List;
import org.springframework.web.reactive.function.server.HandlerFilterFunction;
import org.springframework.web.reactive.function.server.HandlerFunction;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/**
 * Limits the requests of a router function by rules of an engine.
 *
 * <pre>{@code
 * RouterFunctions.route()
 *         .POST("/reports", this::create)
 *         .filter(RateLimitHandlerFilter.of(engine, "reports"))
 *         .build();
 * }</pre>
 *
 * <p>A rule that the web filter has applied to the request does not count it twice. A rule with a
 * {@code ConcurrencyLimit} needs the web filter of the same engine, which releases the permits when the response has
 * been sent; without it a request fails with {@link IllegalStateException}.
 */
public final class RateLimitHandlerFilter implements HandlerFilterFunction<ServerResponse, ServerResponse> {

    private final RateLimitEngine engine;
    private final List<RateLimitRule> rules;

    private RateLimitHandlerFilter(RateLimitEngine engine, List<RateLimitRule> rules) {
        this.engine = engine;
        this.rules = rules;
    }

    /**
     * Applies the rules of these names.
     *
     * @throws IllegalArgumentException if there is no name, or no rule of one of these names
     */
    public static RateLimitHandlerFilter of(RateLimitEngine engine, String... ruleNames) {
        return new RateLimitHandlerFilter(engine, engine.named(List.of(ruleNames)));
    }

    @Override
    public Mono<ServerResponse> filter(ServerRequest request, HandlerFunction<ServerResponse> next) {
        ServerWebExchange exchange = request.exchange();
        RequestPermits.requireFilterForConcurrency(exchange, rules);
        return engine.admit(exchange, rules, result -> {
            RateLimitDenial denial = result.denial();
            return denial == null
                    ? next.handle(request)
                    : ServerResponse.status(denial.status()).build((same, context) -> engine.deny(exchange, result));
        });
    }
}
