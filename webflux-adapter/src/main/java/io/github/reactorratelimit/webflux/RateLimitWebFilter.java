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
 * <p>{@link #of} stands before Spring Security's filters, so that a login is limited before a password is checked. Rules that need to
 * know the user are {@linkplain RateLimitRuleBuilder#afterAuthentication() marked}, and applied by {@link #afterAuthentication}, which
 * stands behind. A filter that rewrites paths or methods must come before either: they decide by what they see.
 */
public final class RateLimitWebFilter implements WebFilter, Ordered {

    /** Before Spring Security's filters, which have the order -100. */
    public static final int ORDER = -110;

    /** After Spring Security's filters. */
    public static final int ORDER_AFTER_AUTHENTICATION = -90;

    private final RateLimitEngine engine;
    private final boolean authenticated;
    private final boolean mayHold;
    private final int order;

    private RateLimitWebFilter(RateLimitEngine engine, boolean authenticated, int order) {
        this.engine = Objects.requireNonNull(engine, "engine");
        this.authenticated = authenticated;
        this.mayHold = engine.hasConcurrency();
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
        List<RateLimitRule> rules = engine.matching(exchange, authenticated);
        Mono<Void> guarded = rules.isEmpty()
                ? chain.filter(exchange)
                : engine.admit(
                        exchange, rules, verdict -> verdict.passes() ? chain.filter(exchange) : verdict.answer());
        return mayHold ? releasingAtTheEnd(exchange, guarded) : guarded;
    }

    /** Only the outermost filter releases: a request that is tried again behind it still holds what that one took. */
    private static Mono<Void> releasingAtTheEnd(ServerWebExchange exchange, Mono<Void> guarded) {
        return Mono.defer(() -> {
            if (!Admission.beginInFilter(exchange)) {
                return guarded;
            }
            Mono<Void> end = ConnectionThread.stay(ConnectionThread.of(exchange), Admission.endInFilter(exchange));
            return Mono.usingWhen(Mono.just(exchange), held -> guarded, held -> end, (held, error) -> end, held -> end);
        });
    }
}
