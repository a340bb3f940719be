package io.github.reactorratelimit.webflux;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.webflux.key.WebKey;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/**
 * Builds a {@link RateLimitRule}; contradictions are refused at once, with a message that names the rule. Conditions add up: a request
 * has to meet all of them, but only one of several paths and one of several methods.
 */
public final class RateLimitRuleBuilder {

    private static final Mono<String> SHARED_KEY = Mono.just("*");

    final String name;
    RequestMatch match = RequestMatch.ALL;
    MissingKey missingKey = MissingKey.deny();
    RequestCost cost = RequestCost.fixed(1);

    @Nullable
    Predicate<ServerWebExchange> counted;

    RateLimitMode mode = RateLimitMode.reject();
    FailureAction onFailure = FailureAction.DENY;
    boolean onlyWhereNamed;
    boolean afterAuthentication;
    private @Nullable WebKey key;
    private @Nullable RateLimiter limiter;
    private @Nullable RateLimitPolicy policy;

    RateLimitRuleBuilder(String name) {
        RateLimitHeaders.named(name);
        this.name = name;
    }

    /**
     * Only requests whose path matches one of these patterns, in the syntax of the application's own mappings: {@code
     * /api/**}, {@code /users/{id}}; the first slash may be left out, as in a mapping. They are read by the parser of the engine, and match what the application's handlers would match, and in
     * addition paths that differ in slashes or dot segments only.
     *
     * @throws org.springframework.web.util.pattern.PatternParseException if one is no pattern
     */
    public RateLimitRuleBuilder path(String... patterns) {
        match = match.withPaths(List.of(patterns));
        return this;
    }

    /** Only requests with one of these methods; GET includes HEAD, which the same handlers answer. */
    public RateLimitRuleBuilder method(HttpMethod... methods) {
        match = match.withMethods(List.of(methods));
        return this;
    }

    /** The same from a collection. */
    public RateLimitRuleBuilder methods(Collection<HttpMethod> methods) {
        match = match.withMethods(methods);
        return this;
    }

    /** Only requests that have this header. Clients choose their headers: who leaves it out is not counted by this rule. */
    public RateLimitRuleBuilder header(String header) {
        Objects.requireNonNull(header, "header");
        return when(exchange -> exchange.getRequest().getHeaders().getFirst(header) != null);
    }

    /** Only requests that have this header with this value, among others perhaps; the same caution applies. */
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
        match = match.withCondition(Objects.requireNonNull(condition, "condition"));
        return this;
    }

    /** Not for requests for which this is true: an allow-list of internal callers. */
    public RateLimitRuleBuilder unless(Predicate<? super ServerWebExchange> exempt) {
        Objects.requireNonNull(exempt, "exempt");
        return when(exchange -> !exempt.test(exchange));
    }

    /** Whose permits. Either this or {@link #sharedByAll()} must be given. */
    public RateLimitRuleBuilder key(WebKey key) {
        this.key = Objects.requireNonNull(key, "key");
        return this;
    }

    /** One limit for all requests of this rule together. */
    public RateLimitRuleBuilder sharedByAll() {
        return key(exchange -> SHARED_KEY);
    }

    /** What happens to requests without a key: denied with 403, unless given. */
    public RateLimitRuleBuilder missingKey(MissingKey missingKey) {
        this.missingKey = Objects.requireNonNull(missingKey, "missingKey");
        return this;
    }

    /** Who decides. Either this or {@link #policy} must be given. Rules that share a limiter and a key share its permits. */
    public RateLimitRuleBuilder limiter(RateLimiter limiter) {
        this.limiter = Objects.requireNonNull(limiter, "limiter");
        return this;
    }

    /** A limiter of its own in this process, with the name of the rule. */
    public RateLimitRuleBuilder policy(RateLimitPolicy policy) {
        this.policy = Objects.requireNonNull(policy, "policy");
        return this;
    }

    /**
     * Permits of each request; 1 unless given. More than the limit ever gives at once are refused when the rule is built, also if
     * single keys have a larger limit; {@code cost(exchange -> permits)} is not checked.
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
     * Counts only requests that end with one of these statuses: failed logins. A permit is taken before the request is handled, so
     * that requests under way at the same time count too, and given back before the response is sent if the status is another
     * one. A request that its client leaves before there is a response counts.
     */
    public RateLimitRuleBuilder countOnly(StatusSet statuses) {
        Objects.requireNonNull(statuses, "statuses");
        return countWhen(exchange -> statuses.contains(statusOf(exchange)));
    }

    /** The same by a test of your own, run when the response is about to be sent; an error in it means that the request counts. */
    public RateLimitRuleBuilder countWhen(Predicate<ServerWebExchange> counted) {
        this.counted = Objects.requireNonNull(counted, "counted");
        return this;
    }

    private static HttpStatusCode statusOf(ServerWebExchange exchange) {
        HttpStatusCode status = exchange.getResponse().getStatusCode();
        return status == null ? HttpStatus.OK : status;
    }

    /** What happens when there is no permit at once; denied, unless given. */
    public RateLimitRuleBuilder mode(RateLimitMode mode) {
        this.mode = Objects.requireNonNull(mode, "mode");
        return this;
    }

    /** What happens if the limiter fails; denied with 503, unless given. */
    public RateLimitRuleBuilder onFailure(FailureAction onFailure) {
        this.onFailure = Objects.requireNonNull(onFailure, "onFailure");
        return this;
    }

    /** Not for the filter: only for handlers that {@linkplain RateLimited name} it. Then it has no conditions of its own. */
    public RateLimitRuleBuilder onlyWhereNamed() {
        this.onlyWhereNamed = true;
        return this;
    }

    /** For keys that need the user: applied after Spring Security's filters, by a {@link RateLimitWebFilter} that stands there. */
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
        check(key != null, "needs a key: key(…), or sharedByAll()");
        check((limiter == null) != (policy == null), "needs either a limiter or a policy");
        check(
                !onlyWhereNamed || match.equals(RequestMatch.ALL),
                "is only for handlers that name it: it can have no conditions");
        RateLimitPolicy ruling = limiter == null ? Objects.requireNonNull(policy) : limiter.policy();
        if (ruling.needsRelease()) {
            check(
                    counted == null,
                    "has a ConcurrencyLimit, whose permits come back anyway: it cannot count by outcome");
            check(
                    !(mode instanceof RateLimitMode.DelayAbove),
                    "has a ConcurrencyLimit: a softer limit needs a rule of its own");
        }
        checkCost(ruling, "limit");
        if (mode instanceof RateLimitMode.DelayAbove above) {
            checkCost(above.soft().policy(), "softer limit");
        }
        RateLimiter decides =
                limiter == null ? RateLimiter.builder(ruling).name(name).build() : limiter;
        return new RateLimitRule(this, Objects.requireNonNull(key), decides);
    }

    private void checkCost(RateLimitPolicy ruling, String what) {
        if (cost instanceof FixedCost fixed) {
            check(
                    fixed.permits() <= ruling.capacity(),
                    "costs " + fixed.permits() + " permits, and its " + what + " never gives more than "
                            + ruling.capacity() + " at once");
        }
    }

    private void check(boolean condition, String otherwise) {
        if (!condition) {
            throw new IllegalStateException("rule '" + name + "' " + otherwise);
        }
    }
}
