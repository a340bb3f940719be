package io.github.reactorratelimit.webflux;

import java.util.List;
import java.util.Objects;
import org.springframework.core.Ordered;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.WebFilterChain;
import reactor.core.publisher.Mono;

/**
 * Applies the rules of an engine to every request that they match. CORS preflights, which no handler sees, pass
 * uncounted, unless a rule names the method {@code OPTIONS}.
 *
 * <p>{@link #of} runs before Spring Security's filters, so that a login is limited before a password is checked. Rules
 * that need the user are {@linkplain RateLimitRuleBuilder#afterAuthentication() marked}; {@link #afterAuthentication}
 * applies them and runs after Spring Security. A filter that rewrites paths or methods must run before both.
 */
public final class RateLimitWebFilter implements WebFilter, Ordered {

    /** Before Spring Security's filters, which have the order -100. */
    public static final int ORDER = -110;

    /** After Spring Security's filters. */
    public static final int ORDER_AFTER_AUTHENTICATION = -90;

    private final RateLimitEngine engine;
    private final boolean authenticated;
    private final RuleMatcher matcher;
    private final boolean mayHoldLeases;
    private final int order;

    private RateLimitWebFilter(RateLimitEngine engine, boolean authenticated, int order) {
        this.engine = Objects.requireNonNull(engine, "engine");
        this.authenticated = authenticated;
        this.matcher = engine.matcher(authenticated);
        this.mayHoldLeases = engine.hasConcurrency();
        this.order = order;
    }

    /** For the rules that need not know the user. */
    public static RateLimitWebFilter of(RateLimitEngine engine) {
        return new RateLimitWebFilter(engine, false, ORDER);
    }

    /** For the rules that need to know the user. */
    public static RateLimitWebFilter afterAuthentication(RateLimitEngine engine) {
        return new RateLimitWebFilter(engine, true, ORDER_AFTER_AUTHENTICATION);
    }

    /** The same filter in another place. */
    public RateLimitWebFilter withOrder(int order) {
        return new RateLimitWebFilter(engine, authenticated, order);
    }

    @Override
    public int getOrder() {
        return order;
    }

    @Override
    public Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
        List<RateLimitRule> rules = matcher.match(exchange);
        Mono<Void> limited = rules.isEmpty()
                ? chain.filter(exchange)
                : engine.admit(
                        exchange,
                        rules,
                        result -> result.allowed() ? chain.filter(exchange) : engine.deny(exchange, result));
        return mayHoldLeases ? RequestPermits.releasingLeases(exchange, limited) : limited;
    }
}
