package io.github.reactorratelimit.webflux;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.webflux.key.WebKey;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.springframework.web.server.ServerWebExchange;

/**
 * One limit on requests: which of them, whose permits, how many, and what happens when there are none. An immutable value.
 *
 * <pre>{@code
 * RateLimitRule login = RateLimitRule.named("login")
 *         .path("/login").method(HttpMethod.POST)
 *         .key(exchange -> Mono.justOrEmpty(exchange.getRequest().getHeaders().getFirst("X-Device")))
 *         .policy(FixedWindow.of(5, Duration.ofMinutes(10)))
 *         .countOnly(StatusSet.parse("401"))
 *         .build();
 * }</pre>
 *
 * <p>Clients see the name, in headers and bodies; they never see a key.
 */
public final class RateLimitRule {

    private final String name;
    private final RequestMatch match;
    private final WebKey key;
    private final MissingKey missingKey;
    private final RateLimiter limiter;
    private final RequestCost cost;
    private final @Nullable Predicate<ServerWebExchange> counted;
    private final RateLimitMode mode;
    private final FailureAction onFailure;
    private final boolean onlyWhereNamed;
    private final boolean afterAuthentication;
    private final RateLimitHeaders headers;

    RateLimitRule(RateLimitRuleBuilder builder, WebKey key, RateLimiter limiter) {
        this.name = builder.name;
        this.match = builder.match;
        this.key = key;
        this.missingKey = builder.missingKey;
        this.limiter = limiter;
        this.cost = builder.cost;
        this.counted = builder.counted;
        this.mode = builder.mode;
        this.onFailure = builder.onFailure;
        this.onlyWhereNamed = builder.onlyWhereNamed;
        this.afterAuthentication = builder.afterAuthentication;
        this.headers = RateLimitHeaders.named(builder.name);
    }

    /**
     * Starts a rule.
     *
     * @param name printable ASCII, which all clients see: never a key
     * @throws IllegalArgumentException if it is empty or holds another character
     */
    public static RateLimitRuleBuilder named(String name) {
        return new RateLimitRuleBuilder(name);
    }

    /** The name by which clients, annotations and operators know it. */
    public String name() {
        return name;
    }

    /** The path patterns; empty if it is for every path. */
    public List<String> paths() {
        return match.paths();
    }

    /** Whose permits. */
    public WebKey key() {
        return key;
    }

    /** What happens to a request that has no key. */
    public MissingKey missingKey() {
        return missingKey;
    }

    /** Who decides. */
    public RateLimiter limiter() {
        return limiter;
    }

    /** How many permits a request costs. */
    public RequestCost cost() {
        return cost;
    }

    /** Which requests count in the end, told when the status of their response is known; empty if all do. */
    public Optional<Predicate<ServerWebExchange>> counted() {
        return Optional.ofNullable(counted);
    }

    /** What happens when there is no permit at once. */
    public RateLimitMode mode() {
        return mode;
    }

    /** What happens if the limiter fails. */
    public FailureAction onFailure() {
        return onFailure;
    }

    /** Whether it is only for handlers that name it, and not for the filter. */
    public boolean onlyWhereNamed() {
        return onlyWhereNamed;
    }

    /** Whether it has to wait until it is known who the user is. */
    public boolean afterAuthentication() {
        return afterAuthentication;
    }

    RateLimitHeaders headers() {
        return headers;
    }

    RequestMatch match() {
        return match;
    }

    boolean isCountedByOutcome() {
        return counted != null;
    }

    /** Whether a request counts that is about to be answered; it does if nobody can tell. */
    boolean counts(ServerWebExchange exchange) {
        try {
            return counted == null || counted.test(exchange);
        } catch (RuntimeException unknown) {
            return true;
        }
    }

    /**
     * What every request costs, where nothing but the key of a request is known.
     *
     * @throws IllegalArgumentException if it needs to know more
     */
    long fixedCost() {
        if (isConcurrency() || isCountedByOutcome() || !(cost instanceof FixedCost fixed)) {
            throw new IllegalArgumentException("rule '" + name + "' needs to know the request and how it ends: it has a"
                    + " ConcurrencyLimit, counts by outcome, or has a cost by request");
        }
        return fixed.permits();
    }

    /** Whether its permits come back when the request ends. */
    boolean isConcurrency() {
        return limiter.policy().needsRelease();
    }

    @Override
    public String toString() {
        return "RateLimitRule '" + name + "' of " + limiter.policy() + " for "
                + (paths().isEmpty() ? "every path" : String.join(", ", paths()));
    }
}
