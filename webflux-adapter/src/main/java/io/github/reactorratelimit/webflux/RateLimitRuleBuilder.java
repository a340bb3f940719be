package io.github.reactorratelimit.webflux;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.webflux.key.WebKey;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.util.pattern.PathPatternParser;
import reactor.core.publisher.Mono;

/**
 * Builds a {@link RateLimitRule}. Contradictions are refused immediately, with a message that names the rule. A request
 * must meet all conditions, but only one of several paths and one of several methods.
 */
public final class RateLimitRuleBuilder {

    private static final Mono<String> SHARED_KEY = Mono.just("*");

    final String name;
    final List<String> paths = new ArrayList<>();
    final Set<HttpMethod> methods = new HashSet<>();

    @Nullable
    Predicate<ServerWebExchange> condition;

    /** Null if requests without a key share one limit. */
    @Nullable
    HttpStatusCode missingKeyStatus = HttpStatus.FORBIDDEN;

    RequestCost cost = RequestCost.fixed(1);

    @Nullable
    Predicate<ServerWebExchange> counted;

    @Nullable
    RateLimiter soft;

    Duration maxWait = Duration.ZERO;
    FailureAction onFailure = FailureAction.DENY;
    boolean explicitOnly;
    boolean afterAuthentication;
    private @Nullable WebKey key;
    private @Nullable Supplier<? extends RateLimiter> limiter;
    private @Nullable RateLimitPolicy policy;

    RateLimitRuleBuilder(String name) {
        if (!Objects.requireNonNull(name, "name").matches("[\\x20-\\x7e]+")) {
            throw new IllegalArgumentException("the name of a rule must be printable ASCII, and not empty");
        }
        this.name = name;
    }

    /**
     * Only requests whose path matches one of these patterns, in the syntax of the application's own mappings: {@code
     * /api/**}, {@code /users/{id}}. The first slash is optional. The parser of the engine reads them. They match the
     * paths that the application's handlers match, and in addition paths that differ only in slashes or dot segments.
     *
     * @throws org.springframework.web.util.pattern.PatternParseException if a pattern is malformed
     */
    public RateLimitRuleBuilder path(String... patterns) {
        PathPatternParser parser = PathPatternParser.defaultInstance;
        for (String pattern : patterns) {
            parser.parse(parser.initFullPathPattern(pattern));
            paths.add(pattern);
        }
        return this;
    }

    /** Only requests with one of these methods; GET includes HEAD, which the same handlers answer. */
    public RateLimitRuleBuilder method(HttpMethod... methods) {
        for (HttpMethod method : methods) {
            this.methods.add(method);
            if (method.equals(HttpMethod.GET)) {
                this.methods.add(HttpMethod.HEAD);
            }
        }
        return this;
    }

    /** Only requests that have this header. Clients choose their headers: a client may omit it to avoid this rule. */
    public RateLimitRuleBuilder header(String header) {
        Objects.requireNonNull(header, "header");
        return when(exchange -> exchange.getRequest().getHeaders().getFirst(header) != null);
    }

    /** Only requests that have this header with this value, perhaps among others; the same caution applies. */
    public RateLimitRuleBuilder header(String header, String value) {
        Objects.requireNonNull(header, "header");
        Objects.requireNonNull(value, "value");
        return when(exchange -> {
            List<String> values = exchange.getRequest().getHeaders().get(header);
            return values != null && values.contains(value);
        });
    }

    /** Only requests for which this is true. It runs on the event loop and must not block. */
    public RateLimitRuleBuilder when(Predicate<? super ServerWebExchange> condition) {
        Objects.requireNonNull(condition, "condition");
        this.condition = this.condition == null ? condition::test : this.condition.and(condition);
        return this;
    }

    /** Not for requests for which this is true: an allow-list of internal callers. */
    public RateLimitRuleBuilder unless(Predicate<? super ServerWebExchange> exempt) {
        Objects.requireNonNull(exempt, "exempt");
        return when(exchange -> !exempt.test(exchange));
    }

    /** Whose permits. Either this or {@link #globalKey()} is required. */
    public RateLimitRuleBuilder key(WebKey key) {
        this.key = Objects.requireNonNull(key, "key");
        return this;
    }

    /** One limit for all requests of this rule together. */
    public RateLimitRuleBuilder globalKey() {
        return key(exchange -> SHARED_KEY);
    }

    /**
     * The status of requests that are denied because they have no key. Default: 403.
     *
     * @throws IllegalArgumentException if it is not 4xx or 5xx
     */
    public RateLimitRuleBuilder missingKeyStatus(HttpStatusCode status) {
        if (!Objects.requireNonNull(status, "status").isError()) {
            throw new IllegalArgumentException("status must be 4xx or 5xx, was " + status.value());
        }
        this.missingKeyStatus = status;
        return this;
    }

    /** One limit for all requests without a key: a flood of them takes it from all clients without a key. */
    public RateLimitRuleBuilder sharedMissingKey() {
        this.missingKeyStatus = null;
        return this;
    }

    /** The limiter that decides. Either this or {@link #policy} is required. Rules may share a limiter. */
    public RateLimitRuleBuilder limiter(RateLimiter limiter) {
        Objects.requireNonNull(limiter, "limiter");
        return limiter(RateLimitRule.always(limiter));
    }

    /** The limiter that decides, obtained for each request: it may be replaced, but not by one of another kind. */
    public RateLimitRuleBuilder limiter(Supplier<? extends RateLimiter> limiter) {
        this.limiter = Objects.requireNonNull(limiter, "limiter");
        return this;
    }

    /** A limiter in this process, for this rule alone, with its name. */
    public RateLimitRuleBuilder policy(RateLimitPolicy policy) {
        this.policy = Objects.requireNonNull(policy, "policy");
        return this;
    }

    /**
     * Permits of each request. Default: 1. A cost above what the limit ever gives at once is refused when the rule is
     * built, even if single keys have a larger limit; {@code cost(exchange -> permits)} is not checked.
     *
     * @throws IllegalArgumentException if it is below 1
     */
    public RateLimitRuleBuilder cost(long permits) {
        return cost(RequestCost.fixed(permits));
    }

    /** Permits by request. */
    public RateLimitRuleBuilder cost(RequestCost cost) {
        this.cost = Objects.requireNonNull(cost, "cost");
        return this;
    }

    /**
     * Counts only requests that end with one of these statuses, such as failed logins. A permit is taken before the
     * request is handled, so that concurrent requests count too, and refunded before the response is sent if the status
     * is another one. A request whose client disconnects before there is a response counts.
     */
    public RateLimitRuleBuilder countStatuses(StatusSet... statuses) {
        List<StatusSet> all = List.of(statuses);
        return countWhen(exchange -> {
            HttpStatusCode status = exchange.getResponse().getStatusCode();
            HttpStatusCode sent = status == null ? HttpStatus.OK : status;
            return all.stream().anyMatch(set -> set.contains(sent));
        });
    }

    /** The same by a test that runs when the response is about to be sent. If it throws, the request counts. */
    public RateLimitRuleBuilder countWhen(Predicate<ServerWebExchange> counted) {
        this.counted = Objects.requireNonNull(counted, "counted");
        return this;
    }

    /**
     * Lets a request wait for a permit; denies it at once if that would take longer than {@code maxWait}. Default: no request
     * waits.
     *
     * @throws IllegalArgumentException if {@code maxWait} is not above zero
     */
    public RateLimitRuleBuilder delay(Duration maxWait) {
        if (Objects.requireNonNull(maxWait, "maxWait").isZero() || maxWait.isNegative()) {
            throw new IllegalArgumentException("maxWait must be positive, was " + maxWait);
        }
        this.maxWait = maxWait;
        this.soft = null;
        return this;
    }

    /**
     * Within the limit of the rule, slows down what is above a softer limit. Denies what is above the limit of the rule, and
     * what would have to wait longer than {@code maxWait}.
     *
     * @param soft the limiter whose permits are waited for, requested with the rule's key and cost
     * @throws IllegalArgumentException if {@code maxWait} is not above zero, or {@code soft} is a {@link ConcurrencyLimit}
     */
    public RateLimitRuleBuilder delayAbove(RateLimiter soft, Duration maxWait) {
        if (Objects.requireNonNull(soft, "soft").policy().needsRelease()) {
            throw new IllegalArgumentException(
                    "soft must not be a ConcurrencyLimit; give it another rule, with a delay");
        }
        delay(maxWait);
        this.soft = soft;
        return this;
    }

    /** What happens if the limiter fails. Default: denied with 503. */
    public RateLimitRuleBuilder onFailure(FailureAction onFailure) {
        this.onFailure = Objects.requireNonNull(onFailure, "onFailure");
        return this;
    }

    /** Applies only to handlers that {@linkplain RateLimited name} it, not in the filter. It can have no conditions. */
    public RateLimitRuleBuilder explicitOnly() {
        this.explicitOnly = true;
        return this;
    }

    /** For keys that need the user: a {@link RateLimitWebFilter} after Spring Security's filters applies it. */
    public RateLimitRuleBuilder afterAuthentication() {
        this.afterAuthentication = true;
        return this;
    }

    /**
     * Builds the rule.
     *
     * @throws IllegalStateException if something is missing, or two choices contradict each other
     */
    public RateLimitRule build() {
        check(key != null, "needs a key: key(…), or globalKey()");
        check((limiter == null) != (policy == null), "needs either a limiter or a policy");
        check(
                !explicitOnly || (paths.isEmpty() && methods.isEmpty() && condition == null),
                "is only for handlers that name it: it can have no conditions");
        RateLimitPolicy effective =
                limiter == null ? Objects.requireNonNull(policy) : limiter.get().policy();
        if (effective.needsRelease()) {
            check(
                    counted == null,
                    "has a ConcurrencyLimit, whose permits come back anyway: it cannot count by outcome");
            check(soft == null, "has a ConcurrencyLimit: a softer limit needs another rule");
        }
        checkCost(effective, "limit");
        if (soft != null) {
            checkCost(soft.policy(), "softer limit");
        }
        return new RateLimitRule(this, Objects.requireNonNull(key), limiter == null ? ownLimiter(effective) : limiter);
    }

    private Supplier<RateLimiter> ownLimiter(RateLimitPolicy effective) {
        return RateLimitRule.always(RateLimiter.builder(effective).name(name).build());
    }

    private void checkCost(RateLimitPolicy effective, String what) {
        if (cost instanceof FixedCost fixed) {
            check(
                    fixed.permits() <= effective.capacity(),
                    "costs " + fixed.permits() + " permits, and its " + what + " never gives more than "
                            + effective.capacity() + " at once");
        }
    }

    private void check(boolean condition, String otherwise) {
        if (!condition) {
            throw new IllegalStateException("rule '" + name + "' " + otherwise);
        }
    }
}
