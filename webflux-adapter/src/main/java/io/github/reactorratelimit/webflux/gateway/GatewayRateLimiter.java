package io.github.reactorratelimit.webflux.gateway;

import io.github.reactorratelimit.webflux.RateLimitDenial;
import io.github.reactorratelimit.webflux.RateLimitDenial.Reason;
import io.github.reactorratelimit.webflux.RateLimitEngine;
import io.github.reactorratelimit.webflux.RateLimitResult;
import io.github.reactorratelimit.webflux.RouteLimitEvaluator;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.BeanUtils;
import org.springframework.cloud.gateway.event.FilterArgsEvent;
import org.springframework.cloud.gateway.filter.ratelimit.AbstractRateLimiter;
import org.springframework.cloud.gateway.filter.ratelimit.RateLimiter;
import org.springframework.cloud.gateway.support.ConfigurationService;
import org.springframework.http.HttpHeaders;
import org.springframework.web.filter.reactive.ServerWebExchangeContextFilter;
import org.springframework.web.server.ResponseStatusException;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/**
 * Decides for the {@code RequestRateLimiter} filter of Spring Cloud Gateway. The gateway's {@code KeyResolver} yields the
 * key, a rule for the route the limit.
 *
 * <pre>{@code
 * filters:
 *   - name: RequestRateLimiter
 *     args:
 *       key-resolver: "#{@userKeyResolver}"
 *       ratelimit.limit: 100 per minute
 * }</pre>
 *
 * <p>The gateway answers a request above the limit, with the status of its filter (default: 429) and the fields about the
 * limit. If Redis is unavailable and the limit denies, the request fails with an error of status 503; if its key is empty,
 * with the status of the rule for that. The application's error handling answers it.
 *
 * <p>The gateway passes no request to a rate limiter. If {@link ServerWebExchangeContextFilter} puts it into the Reactor
 * Context, the request continues on the event loop of its connection, and one that a route denies costs nothing in the
 * limits of the filter.
 */
public final class GatewayRateLimiter extends AbstractRateLimiter<GatewayRateLimiter.Config> {

    /** What the arguments of a route begin with that are for this limiter. */
    public static final String ARGUMENTS = "ratelimit";

    private static final Set<String> NAMES = Stream.of(BeanUtils.getPropertyDescriptors(Config.class))
            .filter(property -> property.getWriteMethod() != null)
            .map(property -> plain(property.getName()))
            .collect(Collectors.toUnmodifiableSet());

    private final Asked asked;

    /** Decides for a route, when it is subscribed. */
    private interface Asked {

        Mono<RateLimiter.Response> of(
                String routeId, @Nullable Config config, String key, @Nullable ServerWebExchange exchange);
    }

    /**
     * A limiter for all routes.
     *
     * @param engine knows which header fields are sent, and who observes
     * @param rules the rule of each route
     * @param arguments reads the arguments of routes
     */
    public GatewayRateLimiter(RateLimitEngine engine, GatewayRules rules, ConfigurationService arguments) {
        this(arguments, limitedBy(Objects.requireNonNull(engine, "engine"), Objects.requireNonNull(rules, "rules")));
    }

    private GatewayRateLimiter(ConfigurationService arguments, Asked asked) {
        super(Config.class, ARGUMENTS, Objects.requireNonNull(arguments, "arguments"));
        this.asked = asked;
    }

    private static Asked limitedBy(RateLimitEngine engine, GatewayRules rules) {
        RouteLimitEvaluator evaluator = new RouteLimitEvaluator(engine);
        return (routeId, config, key, exchange) ->
                evaluator.evaluate(rules.of(routeId, config), key, exchange).flatMap(GatewayRateLimiter::response);
    }

    /** A limiter that lets every request pass and tells nothing of limits, whatever routes say: for a gateway whose limits are turned off. */
    public static GatewayRateLimiter allowingAll(ConfigurationService arguments) {
        return new GatewayRateLimiter(
                arguments, (routeId, config, key, exchange) -> Mono.just(new RateLimiter.Response(true, Map.of())));
    }

    @Override
    public Mono<RateLimiter.Response> isAllowed(String routeId, String key) {
        return Mono.deferContextual(context -> asked.of(
                routeId,
                getConfig().get(routeId),
                key,
                ServerWebExchangeContextFilter.getExchange(context).orElse(null)));
    }

    /**
     * Finds mistakes in what a route says before a request meets them.
     *
     * @param arguments of its {@code RequestRateLimiter}
     * @throws RuntimeException saying what is wrong
     */
    public void check(String routeId, Map<String, ?> arguments) {
        onApplicationEvent(new FilterArgsEvent(this, routeId, new LinkedHashMap<>(arguments)));
        asked.of(routeId, getConfig().get(routeId), routeId, null);
    }

    /** The gateway tells what a route says, and would not mind what it does not know. */
    @Override
    public void onApplicationEvent(FilterArgsEvent event) {
        for (String name : event.getArgs().keySet()) {
            if (name.startsWith(ARGUMENTS + ".") && !NAMES.contains(plain(name.substring(ARGUMENTS.length() + 1)))) {
                throw new IllegalArgumentException(
                        "route '" + event.getRouteId() + "' has an unknown argument '" + name + "'");
            }
        }
        super.onApplicationEvent(event);
    }

    private static String plain(String name) {
        return name.replace("-", "").toLowerCase(Locale.ROOT);
    }

    private static Mono<RateLimiter.Response> response(RateLimitResult result) {
        RateLimitDenial denial = result.denial();
        if (denial != null && (denial.reason() == Reason.UNAVAILABLE || denial.reason() == Reason.MISSING_KEY)) {
            return Mono.error(new Refused(denial, result));
        }
        Map<String, String> fields = new LinkedHashMap<>();
        result.headers().forEach((name, values) -> fields.put(name, String.join(", ", values)));
        return Mono.just(new RateLimiter.Response(denial == null, fields));
    }

    /** For the application's error handling. */
    private static final class Refused extends ResponseStatusException {

        private static final long serialVersionUID = 1L;
        private final HttpHeaders fields;

        Refused(RateLimitDenial denial, RateLimitResult result) {
            super(denial.status(), denial.toString());
            this.fields = result.headers();
        }

        @Override
        public HttpHeaders getHeaders() {
            return fields;
        }

        /** Expected, and thrown for every request while the store is away. */
        @Override
        public synchronized Throwable fillInStackTrace() {
            return this;
        }
    }

    /**
     * The arguments of a route: either the name of a configured limit, or a limit for this route, written as in {@code
     * reactor-ratelimit.limits}.
     */
    public static class Config {

        private @Nullable String use;
        private @Nullable String limit;
        private @Nullable String algorithm;
        private @Nullable String burst;
        private @Nullable String queue;
        private @Nullable String cost;
        private @Nullable String maxWait;
        private @Nullable String onFailure;
        private @Nullable String whenUnavailable;
        private @Nullable String store;

        /** The name of a limit that is configured elsewhere, which all routes that use it share. */
        public @Nullable String getUse() {
            return use;
        }

        /** {@link #getUse}. */
        public void setUse(@Nullable String use) {
            this.use = use;
        }

        /** Permits and time, such as {@code 100 per minute}. */
        public @Nullable String getLimit() {
            return limit;
        }

        /** {@link #getLimit}. */
        public void setLimit(@Nullable String limit) {
            this.limit = limit;
        }

        /** How permits come back, such as {@code fixed-window}. */
        public @Nullable String getAlgorithm() {
            return algorithm;
        }

        /** {@link #getAlgorithm}. */
        public void setAlgorithm(@Nullable String algorithm) {
            this.algorithm = algorithm;
        }

        /** Permits that may be taken at once. */
        public @Nullable String getBurst() {
            return burst;
        }

        /** {@link #getBurst}. */
        public void setBurst(@Nullable String burst) {
            this.burst = burst;
        }

        /** Permits that may wait in line, for {@code leaky-bucket}. */
        public @Nullable String getQueue() {
            return queue;
        }

        /** {@link #getQueue}. */
        public void setQueue(@Nullable String queue) {
            this.queue = queue;
        }

        /** Permits that a request costs. */
        public @Nullable String getCost() {
            return cost;
        }

        /** {@link #getCost}. */
        public void setCost(@Nullable String cost) {
            this.cost = cost;
        }

        /** How long a request may wait for its turn, such as {@code 2s}. */
        public @Nullable String getMaxWait() {
            return maxWait;
        }

        /** {@link #getMaxWait}. */
        public void setMaxWait(@Nullable String maxWait) {
            this.maxWait = maxWait;
        }

        /** What happens when the limiter fails: {@code deny} or {@code allow}. */
        public @Nullable String getOnFailure() {
            return onFailure;
        }

        /** {@link #getOnFailure}. */
        public void setOnFailure(@Nullable String onFailure) {
            this.onFailure = onFailure;
        }

        /** What happens while Redis is unavailable: {@code open}, {@code closed} or {@code local}. */
        public @Nullable String getWhenUnavailable() {
            return whenUnavailable;
        }

        /** {@link #getWhenUnavailable}. */
        public void setWhenUnavailable(@Nullable String whenUnavailable) {
            this.whenUnavailable = whenUnavailable;
        }

        /** Where the state lives: {@code local} or {@code redis}. */
        public @Nullable String getStore() {
            return store;
        }

        /** {@link #getStore}. */
        public void setStore(@Nullable String store) {
            this.store = store;
        }

        /** What was said, by the names of the properties; {@code use} is not among them. */
        public Map<String, String> numbers() {
            Map<String, String> said = new LinkedHashMap<>();
            put(said, "limit", limit);
            put(said, "algorithm", algorithm);
            put(said, "burst", burst);
            put(said, "queue", queue);
            put(said, "cost", cost);
            put(said, "max-wait", maxWait);
            put(said, "on-failure", onFailure);
            put(said, "when-unavailable", whenUnavailable);
            put(said, "store", store);
            return said;
        }

        private static void put(Map<String, String> said, String property, @Nullable String value) {
            if (value != null) {
                said.put(property, value);
            }
        }
    }
}
