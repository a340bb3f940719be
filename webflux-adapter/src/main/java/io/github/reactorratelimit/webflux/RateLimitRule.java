package io.github.reactorratelimit.webflux;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.webflux.key.WebKey;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatusCode;
import org.springframework.web.server.ServerWebExchange;

/**
 * One limit on requests: which requests, whose permits, how many, and what happens if there are none. An immutable
 * value.
 *
 * <pre>{@code
 * RateLimitRule login = RateLimitRule.named("login")
 *         .path("/login").method(HttpMethod.POST)
 *         .key(exchange -> Mono.justOrEmpty(exchange.getRequest().getHeaders().getFirst("X-Device")))
 *         .policy(FixedWindow.of(5, Duration.ofMinutes(10)))
 *         .countStatuses(StatusSet.parse("401"))
 *         .build();
 * }</pre>
 *
 * <p>Clients see the name, in headers and bodies. They never see a key.
 */
public final class RateLimitRule {

    private final String name;
    private final List<String> paths;
    private final Set<HttpMethod> methods;
    private final @Nullable Predicate<ServerWebExchange> condition;
    private final WebKey key;
    private final @Nullable HttpStatusCode missingKeyStatus;
    private final Supplier<? extends RateLimiter> limiter;
    private final RequestCost cost;

    /** 0 if the cost depends on the request. */
    private final long fixedCost;

    private final @Nullable Predicate<ServerWebExchange> counted;
    private final @Nullable RateLimiter soft;
    private final Duration maxWait;
    private final FailureAction onFailure;
    private final boolean explicitOnly;
    private final boolean afterAuthentication;

    RateLimitRule(RateLimitRuleBuilder builder, WebKey key, Supplier<? extends RateLimiter> limiter) {
        this.name = builder.name;
        this.paths = List.copyOf(builder.paths);
        this.methods = Set.copyOf(builder.methods);
        this.condition = builder.condition;
        this.key = key;
        this.missingKeyStatus = builder.missingKeyStatus;
        this.limiter = limiter;
        this.cost = builder.cost;
        this.fixedCost = builder.cost instanceof FixedCost fixed ? fixed.permits() : 0;
        this.counted = builder.counted;
        this.soft = builder.soft;
        this.maxWait = builder.maxWait;
        this.onFailure = builder.onFailure;
        this.explicitOnly = builder.explicitOnly;
        this.afterAuthentication = builder.afterAuthentication;
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

    static Supplier<RateLimiter> always(RateLimiter limiter) {
        return () -> limiter;
    }

    /** The name by which clients, annotations and operators know it. */
    public String name() {
        return name;
    }

    /** The path patterns; empty if it is for every path. */
    public List<String> paths() {
        return paths;
    }

    /** Whose permits. */
    public WebKey key() {
        return key;
    }

    /** The status of a request that is denied because it has no key; null if such requests share one limit. */
    public @Nullable HttpStatusCode missingKeyStatus() {
        return missingKeyStatus;
    }

    /** The limiter that decides. */
    public RateLimiter limiter() {
        return limiter.get();
    }

    /** How many permits a request costs. */
    public RequestCost cost() {
        return cost;
    }

    /** Which requests count, decided when the status of their response is known; empty if all do. */
    public Optional<Predicate<ServerWebExchange>> counted() {
        return Optional.ofNullable(counted);
    }

    /** How long a request waits at most; zero if it is denied when there is no permit at once. */
    public Duration maxWait() {
        return maxWait;
    }

    /** The limiter whose permits are waited for instead of those of {@link #limiter}; null if there is none. */
    public @Nullable RateLimiter soft() {
        return soft;
    }

    /** What happens if the limiter fails. */
    public FailureAction onFailure() {
        return onFailure;
    }

    /** Whether it applies only to handlers that name it, and not in the filter. */
    public boolean explicitOnly() {
        return explicitOnly;
    }

    /** Whether it applies after authentication. */
    public boolean afterAuthentication() {
        return afterAuthentication;
    }

    /** The methods of its requests; empty for all but CORS preflights. */
    Set<HttpMethod> methods() {
        return methods;
    }

    /** A condition of its requests besides paths and methods; null if there is none. */
    @Nullable
    Predicate<ServerWebExchange> condition() {
        return condition;
    }

    boolean isCountedByOutcome() {
        return counted != null;
    }

    /** Whether a request counts whose response is about to be sent; it does if the test fails. */
    boolean counts(ServerWebExchange exchange) {
        try {
            return counted == null || counted.test(exchange);
        } catch (RuntimeException unknown) {
            return true;
        }
    }

    /**
     * Permits that the request costs.
     *
     * @param exchange null if only the key of the request is known; then the cost is fixed
     * @throws IllegalArgumentException if the application's own cost is below 1
     */
    long permitsOf(@Nullable ServerWebExchange exchange) {
        if (fixedCost > 0) {
            return fixedCost;
        }
        long permits = cost.permits(Objects.requireNonNull(exchange, "exchange"));
        if (permits < 1) {
            throw new IllegalArgumentException("cost of rule '" + name + "' must be positive, was " + permits);
        }
        return permits;
    }

    /**
     * Checks that the rule can be evaluated if nothing but the key of a request is known.
     *
     * @throws IllegalArgumentException if it needs to know more
     */
    void requireFixedCost() {
        if (isConcurrency() || isCountedByOutcome() || fixedCost == 0) {
            throw new IllegalArgumentException("rule '" + name + "' needs to know the request and how it ends: it has a"
                    + " ConcurrencyLimit, counts by outcome, or has a cost by request");
        }
    }

    /** The unit in which clients see the quota; null for requests. */
    @Nullable
    String quotaUnit() {
        if (isConcurrency()) {
            return "concurrent-requests";
        }
        return cost instanceof ContentLengthCost ? "content-bytes" : null;
    }

    /** How much of its unit one permit stands for. */
    long quotaPerPermit() {
        return cost instanceof ContentLengthCost bytes ? bytes.bytesPerPermit() : 1;
    }

    /** Whether its permits come back when the request ends. */
    boolean isConcurrency() {
        return limiter().policy().needsRelease();
    }

    @Override
    public String toString() {
        return "RateLimitRule '" + name + "' of " + limiter().policy() + " for "
                + (paths().isEmpty() ? "every path" : String.join(", ", paths()));
    }
}
