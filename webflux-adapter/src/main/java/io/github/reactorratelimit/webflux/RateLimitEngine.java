package io.github.reactorratelimit.webflux;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.web.cors.reactive.CorsUtils;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/**
 * Applies rules to requests, for the filters, annotated handlers and handler functions that share it. All rules that
 * match a request apply to it, each once; a request that one of them denies costs nothing in the others.
 *
 * <pre>{@code
 * RateLimitEngine engine = RateLimitEngine.builder().rule(perIp).rule(login).build();
 * WebFilter filter = RateLimitWebFilter.of(engine);
 * }</pre>
 */
public final class RateLimitEngine {

    private final List<RateLimitRule> rules;
    private final RuleMatcher beforeAuthentication;
    private final RuleMatcher afterAuthentication;
    private final @Nullable Predicate<ServerWebExchange> exempt;
    private final Duration keyTimeout;
    private final RateLimitHeaderWriter headerWriter;
    private final DenialCors cors;
    private final RateLimitDeniedHandler deniedHandler;
    private final @Nullable DecisionObserver observer;

    RateLimitEngine(RateLimitEngineBuilder builder) {
        this.rules = List.copyOf(builder.rules);
        this.beforeAuthentication = matcher(builder, false);
        this.afterAuthentication = matcher(builder, true);
        this.exempt = builder.exempt;
        this.keyTimeout = builder.keyTimeout;
        this.headerWriter = new RateLimitHeaderWriter(builder.headers);
        this.cors = builder.cors;
        this.deniedHandler = builder.deniedHandler;
        this.observer = builder.observer;
    }

    private static RuleMatcher matcher(RateLimitEngineBuilder builder, boolean afterAuthentication) {
        List<RateLimitRule> matched = builder.rules.stream()
                .filter(rule -> !rule.explicitOnly() && rule.afterAuthentication() == afterAuthentication)
                .toList();
        return new RuleMatcher(matched, builder.parser, builder.managed);
    }

    /** Starts building an engine. */
    public static RateLimitEngineBuilder builder() {
        return new RateLimitEngineBuilder();
    }

    /** The rules, in the order in which they are evaluated. */
    public List<RateLimitRule> rules() {
        return rules;
    }

    /** The rule of this name. */
    public Optional<RateLimitRule> rule(String name) {
        return rules.stream().filter(rule -> rule.name().equals(name)).findFirst();
    }

    /**
     * The rules of these names.
     *
     * @throws IllegalArgumentException if there is no name, or no rule of one of these names
     */
    List<RateLimitRule> named(List<String> names) {
        List<String> known = rules.stream().map(RateLimitRule::name).sorted().toList();
        if (names.isEmpty()) {
            throw new IllegalArgumentException("no rate limit rule is named; there are " + known);
        }
        List<RateLimitRule> found = new ArrayList<>();
        for (String name : names) {
            found.add(rule(name)
                    .orElseThrow(() -> new IllegalArgumentException(
                            "there is no rate limit rule '" + name + "'; there are " + known)));
        }
        return found;
    }

    RuleMatcher matcher(boolean authenticated) {
        return authenticated ? afterAuthentication : beforeAuthentication;
    }

    RateLimitHeaderWriter headerWriter() {
        return headerWriter;
    }

    /** Whether a request may hold leases until its response has been sent: a handler may name any rule. */
    boolean hasConcurrency() {
        return rules.stream().anyMatch(RateLimitRule::isConcurrency);
    }

    /**
     * Evaluates the rules for the request, writes the header fields of an allowed one, and continues with {@code then}.
     * Empty if the client cancels meanwhile. After a denial or an error the request holds nothing, not even what earlier
     * rules granted. If the result is known at once, {@code then} is subscribed as if there were no limit.
     */
    <T> Mono<T> admit(ServerWebExchange exchange, List<RateLimitRule> asked, Function<RateLimitResult, Mono<T>> then) {
        return Mono.deferContextual(context -> {
            if (exempt != null && exempt.test(exchange)) {
                return then.apply(RateLimitResult.ALLOWED);
            }
            RequestPermits permits = RequestPermits.of(exchange);
            List<RateLimitRule> pending = permits.begin(asked);
            if (pending.isEmpty()) {
                return then.apply(RateLimitResult.ALLOWED);
            }
            if (observer != null && !observer.isIdle()) {
                return observe(exchange, pending, permits, null).flatMap(result -> proceed(exchange, result, then));
            }
            RuleEvaluator evaluator = RuleEvaluator.start(exchange, pending, permits, keyTimeout, null, context);
            RateLimitResult known = evaluator.known();
            return known == null
                    ? evaluator.result().flatMap(result -> proceed(exchange, result, then))
                    : proceed(exchange, known, then);
        });
    }

    /** Evaluates and observes the rules, the last of them by a key that the caller may have resolved. */
    Mono<RateLimitResult> observe(
            @Nullable ServerWebExchange exchange,
            List<RateLimitRule> pending,
            RequestPermits permits,
            @Nullable String externalKey) {
        Mono<RateLimitResult> result = Mono.deferContextual(
                context -> RuleEvaluator.start(exchange, pending, permits, keyTimeout, externalKey, context)
                        .result());
        return observer == null || observer.isIdle() ? result : observer.observed(result, pending, exchange);
    }

    private <T> Mono<T> proceed(
            ServerWebExchange exchange, RateLimitResult result, Function<RateLimitResult, Mono<T>> then) {
        if (result.allowed() && !exchange.getResponse().isCommitted()) {
            headerWriter.writeAllowed(result.grants(), exchange.getResponse().getHeaders());
        }
        return then.apply(result);
    }

    /** Answers a denied request, unless its response is committed. */
    Mono<Void> deny(ServerWebExchange exchange, RateLimitResult result) {
        return Mono.defer(() ->
                isCrossOrigin(exchange.getRequest()) && !exchange.getResponse().isCommitted()
                        ? cors.write(exchange).then(Mono.defer(() -> answer(exchange, result)))
                        : answer(exchange, result));
    }

    /** False also for a malformed {@code Origin}: no browser sends it, so no script would read CORS headers. */
    private static boolean isCrossOrigin(ServerHttpRequest request) {
        try {
            return CorsUtils.isCorsRequest(request);
        } catch (IllegalArgumentException | IllegalStateException malformed) {
            return false;
        }
    }

    private Mono<Void> answer(ServerWebExchange exchange, RateLimitResult result) {
        ServerHttpResponse response = exchange.getResponse();
        if (response.isCommitted()) {
            return Mono.empty();
        }
        RateLimitDenial denial = Objects.requireNonNull(result.denial());
        response.setStatusCode(denial.status());
        return deniedHandler.handle(exchange, headerWriter.writeDenied(denial, result.grants(), response.getHeaders()));
    }
}
