package io.github.reactorratelimit.webflux;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.http.server.PathContainer;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/**
 * Applies rules to requests: what filters, annotated handlers and handler functions have in common. All rules that match a request
 * apply to it, each of them once; a request that one of them denies costs nothing in the others.
 *
 * <pre>{@code
 * RateLimitEngine engine = RateLimitEngine.builder().rule(perIp).rule(login).build();
 * WebFilter filter = RateLimitWebFilter.of(engine);
 * }</pre>
 */
public final class RateLimitEngine {

    private final Map<String, RateLimitRule> rules;
    private final List<Matched> beforeAuthentication;
    private final List<Matched> afterAuthentication;
    private final Predicate<ServerWebExchange> exempt;
    private final Duration keyTimeout;
    private final ResponseFields fields;
    private final DenialWriter denials;

    private record Matched(RateLimitRule rule, PathMatch paths) {

        boolean matches(ServerWebExchange exchange, PathContainer path) {
            RequestMatch match = rule.match();
            return (match.methods().isEmpty()
                            || match.methods().contains(exchange.getRequest().getMethod()))
                    && paths.matches(path)
                    && match.condition().test(exchange);
        }
    }

    RateLimitEngine(RateLimitEngineBuilder builder) {
        this.rules = builder.rules.stream()
                .collect(Collectors.toMap(RateLimitRule::name, Function.identity(), (a, b) -> a, LinkedHashMap::new));
        this.beforeAuthentication = matched(builder, false);
        this.afterAuthentication = matched(builder, true);
        this.exempt = builder.exempt;
        this.keyTimeout = builder.keyTimeout;
        this.fields = new ResponseFields(builder.headers);
        this.denials = new DenialWriter(fields, builder.cors, builder.deniedHandler);
    }

    private static List<Matched> matched(RateLimitEngineBuilder builder, boolean afterAuthentication) {
        return builder.rules.stream()
                .filter(rule -> !rule.onlyWhereNamed() && rule.afterAuthentication() == afterAuthentication)
                .map(rule -> new Matched(rule, new PathMatch(rule.paths(), builder.parser)))
                .toList();
    }

    /** Starts building an engine. */
    public static RateLimitEngineBuilder builder() {
        return new RateLimitEngineBuilder();
    }

    /** The rules, in the order in which they were given. */
    public List<RateLimitRule> rules() {
        return List.copyOf(rules.values());
    }

    /** The rule of this name. */
    public Optional<RateLimitRule> rule(String name) {
        return Optional.ofNullable(rules.get(name));
    }

    /**
     * The rules of these names.
     *
     * @throws IllegalArgumentException if there is no name, or no rule of one of these names
     */
    List<RateLimitRule> named(List<String> names) {
        Set<String> known = new TreeSet<>(rules.keySet());
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

    /** The rules that a filter applies to this request. */
    List<RateLimitRule> matching(ServerWebExchange exchange, boolean authenticated) {
        List<Matched> candidates = authenticated ? afterAuthentication : beforeAuthentication;
        if (candidates.isEmpty()) {
            return List.of();
        }
        PathContainer path = exchange.getRequest().getPath().pathWithinApplication();
        List<RateLimitRule> matching = new ArrayList<>(candidates.size());
        for (Matched candidate : candidates) {
            if (candidate.matches(exchange, path)) {
                matching.add(candidate.rule());
            }
        }
        return matching;
    }

    /** Whether a request may hold something until its response has been sent: a handler may name any rule. */
    boolean hasConcurrency() {
        return rules.values().stream().anyMatch(RateLimitRule::isConcurrency);
    }

    /**
     * Asks the rules whether the request may pass, and tells the response what they said. Empty if its client left meanwhile.
     * After a denial or an error nothing is held any more, also of what rules before these have granted.
     */
    Mono<Verdict> admit(ServerWebExchange exchange, List<RateLimitRule> asked) {
        return Mono.defer(() -> {
            if (exempt.test(exchange)) {
                return Mono.just(Verdict.PASS);
            }
            Admission admission = Admission.of(exchange);
            List<RateLimitRule> toAsk = admission.decide(asked);
            return toAsk.isEmpty() ? Mono.just(Verdict.PASS) : ask(exchange, toAsk, admission);
        });
    }

    private Mono<Verdict> ask(ServerWebExchange exchange, List<RateLimitRule> toAsk, Admission admission) {
        Mono<Optional<RateLimitDenial>> answer = Mono.defer(() -> RuleAsks.of(exchange, toAsk, keyTimeout))
                .flatMap(asks -> asks.denial() == null
                        ? Asking.all(asks.asks(), admission)
                        : Mono.just(Optional.of(asks.denial())));
        Mono<Verdict> verdict = ConnectionThread.stay(exchange, answer)
                .flatMap(denial -> denial.isPresent()
                        ? deny(exchange, admission, denial.get())
                        : Mono.justOrEmpty(pass(exchange, admission)))
                .onErrorResume(error -> admission.giveBackAll().then(Mono.error(error)))
                .doOnCancel(admission::leave);
        return ConnectionThread.stay(exchange, verdict);
    }

    private Optional<Verdict> pass(ServerWebExchange exchange, Admission admission) {
        if (!admission.pass(exchange)) {
            return Optional.empty();
        }
        fields.writeAllowed(admission.grants(), exchange.getResponse());
        return Optional.of(Verdict.PASS);
    }

    private Mono<Verdict> deny(ServerWebExchange exchange, Admission admission, RateLimitDenial denial) {
        List<Grant> before = admission.grants();
        return admission.giveBackAll().thenReturn(new Verdict(denial, denials.write(exchange, denial, before)));
    }

    /**
     * Whether a request may pass.
     *
     * @param denial null if it may
     * @param answer writes the answer of one that may not
     */
    record Verdict(@Nullable RateLimitDenial denial, Mono<Void> answer) {

        static final Verdict PASS = new Verdict(null, Mono.empty());

        boolean passes() {
            return denial == null;
        }
    }
}
