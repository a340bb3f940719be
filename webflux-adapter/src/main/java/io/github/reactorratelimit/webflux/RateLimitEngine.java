package io.github.reactorratelimit.webflux;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.http.server.PathContainer;
import org.springframework.web.cors.reactive.CorsUtils;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.Exceptions;
import reactor.core.publisher.Mono;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

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

    private static final Mono<Verdict> PASSED = Mono.just(Verdict.PASS);

    /** Not known at once: nothing goes on. */
    private static final Mono<Verdict> LEFT = Mono.<Verdict>empty().hide();

    private final Map<String, RateLimitRule> rules;
    private final List<Matched> beforeAuthentication;
    private final List<Matched> afterAuthentication;
    private final Predicate<ServerWebExchange> exempt;
    private final Predicate<ServerWebExchange> managed;
    private final Duration keyTimeout;
    private final ResponseFields fields;
    private final DenialWriter denials;
    private final DecisionObserver observer;

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
        this.managed = builder.managed;
        this.keyTimeout = builder.keyTimeout;
        this.fields = new ResponseFields(builder.headers);
        this.denials = new DenialWriter(fields, builder.cors, builder.deniedHandler);
        this.observer = builder.observer;
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

    /** The rules that a filter applies to this request: to a preflight only those that name its method, to what is managed only those that have paths. */
    List<RateLimitRule> matching(ServerWebExchange exchange, boolean authenticated) {
        List<Matched> candidates = authenticated ? afterAuthentication : beforeAuthentication;
        if (candidates.isEmpty()) {
            return List.of();
        }
        boolean preflight = CorsUtils.isPreFlightRequest(exchange.getRequest());
        boolean needsPaths = managed.test(exchange);
        PathContainer path = exchange.getRequest().getPath().pathWithinApplication();
        List<RateLimitRule> matching = new ArrayList<>(candidates.size());
        for (Matched candidate : candidates) {
            RequestMatch match = candidate.rule().match();
            boolean meant = (!preflight || match.methods().contains(HttpMethod.OPTIONS))
                    && (!needsPaths || !match.paths().isEmpty());
            if (meant && candidate.matches(exchange, path)) {
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
     * Asks the rules whether the request may pass, tells the response what they said, and goes on with {@code then}. Empty if its client
     * left meanwhile. After a denial or an error nothing is held any more, also of what rules before these have granted. A request that one
     * limiter of this process decides costs no operator: {@code then} is subscribed as if there were no limit.
     */
    <T> Mono<T> admit(ServerWebExchange exchange, List<RateLimitRule> asked, Function<Verdict, Mono<T>> then) {
        return Mono.deferContextual(context -> {
            if (exempt.test(exchange)) {
                return then.apply(Verdict.PASS);
            }
            Admission admission = Admission.of(exchange);
            List<RateLimitRule> toAsk = admission.decide(asked);
            if (toAsk.isEmpty()) {
                return then.apply(Verdict.PASS);
            }
            Mono<Verdict> verdict = observed(exchange, toAsk, admission, context);
            return verdict instanceof Callable<?> known ? then.apply(valueOf(known)) : verdict.flatMap(then);
        });
    }

    private Mono<Verdict> observed(
            ServerWebExchange exchange, List<RateLimitRule> toAsk, Admission admission, ContextView context) {
        return observer.isIdle()
                ? decide(exchange, toAsk, admission, context)
                : observer.observed(
                        Mono.deferContextual(inner -> decide(exchange, toAsk, admission, inner)),
                        toAsk,
                        exchange,
                        Verdict::denial);
    }

    /**
     * Asks as {@link #ask(RateLimitRule, String, ServerWebExchange)} does for a request that is not at hand. The answer may come on any
     * thread.
     */
    public Mono<RateLimitAnswer> ask(RateLimitRule rule, String key) {
        return ask(rule, key, null);
    }

    /**
     * Asks a rule for a key that the caller has found, and leaves the answer to the caller: for gateways. The rule need not be one of the engine's; its
     * conditions, its own key, and callers that are exempt do not count here. Cancelling before there is an answer costs nothing.
     *
     * <p>Where the request is at hand, it is one with what filters and handlers have asked for it: a denial gives back what other rules granted; a rule that
     * has let it pass before counts it once, by the key of that time, and is not asked again; and the fields that are in the response about limits go from
     * there into the answer.
     *
     * @param exchange the request, if it is at hand: on Reactor Netty the answer then comes on the event loop of its connection, if that is
     *     where it is asked for
     * @throws IllegalArgumentException if the rule needs more of the request than its key: it has a {@code ConcurrencyLimit}, counts by outcome,
     *     or has a cost by request
     */
    public Mono<RateLimitAnswer> ask(RateLimitRule rule, String key, @Nullable ServerWebExchange exchange) {
        RuleAsks asked = RuleAsks.of(rule, Objects.requireNonNull(key, "key"), rule.fixedCost());
        return Mono.defer(() -> {
            Admission admission = exchange == null ? new Admission() : Admission.of(exchange);
            List<RateLimitRule> toAsk = admission.decide(List.of(rule));
            if (toAsk.isEmpty()) {
                return Mono.just(passed(admission, exchange));
            }
            Mono<RateLimitAnswer> answer =
                    Mono.defer(() -> answer(asked.withOthers(toAsk, exchange, keyTimeout), admission, exchange));
            return observer.observed(
                    ConnectionThread.stay(exchange, answer),
                    toAsk,
                    exchange,
                    given -> given.denial().orElse(null));
        });
    }

    private Mono<RateLimitAnswer> answer(
            Mono<RuleAsks> asks, Admission admission, @Nullable ServerWebExchange exchange) {
        return ConnectionThread.stay(exchange, asks.flatMap(found -> ask(found, admission)))
                .flatMap(denial -> answer(denial.orElse(null), admission, exchange))
                .onErrorResume(error -> admission.giveBackAll().then(Mono.error(error)))
                .doOnCancel(admission::leave);
    }

    private Mono<RateLimitAnswer> answer(
            @Nullable RateLimitDenial denial, Admission admission, @Nullable ServerWebExchange exchange) {
        if (denial == null) {
            boolean passes = exchange == null ? admission.pass() : admission.pass(exchange);
            return passes ? Mono.just(passed(admission, exchange)) : Mono.empty();
        }
        HttpHeaders headers = ResponseFields.anew(exchange);
        RateLimitDenial told = fields.writeDenied(denial, admission.grants(), headers);
        return admission.giveBackAll().thenReturn(new RateLimitAnswer(told, headers));
    }

    private RateLimitAnswer passed(Admission admission, @Nullable ServerWebExchange exchange) {
        HttpHeaders headers = ResponseFields.anew(exchange);
        fields.writeAllowed(admission.grants(), headers);
        return new RateLimitAnswer(null, headers);
    }

    private static Verdict valueOf(Callable<?> known) {
        try {
            return (Verdict) Objects.requireNonNull(known.call());
        } catch (Exception impossible) {
            throw Exceptions.propagate(impossible);
        }
    }

    /** Begins at once. What is known when it returns is a {@link Mono#just}. */
    private Mono<Verdict> decide(
            ServerWebExchange exchange, List<RateLimitRule> toAsk, Admission admission, ContextView context) {
        try {
            Mono<RuleAsks> asks = RuleAsks.of(exchange, toAsk, keyTimeout);
            if (!(asks instanceof Callable<?> known)) {
                return later(exchange, admission, asks.flatMap(found -> ask(found, admission)));
            }
            RuleAsks found = (RuleAsks) Objects.requireNonNull(known.call());
            if (found.denial() != null || found.asks().size() > 1 || !Asking.isAnsweredAtOnce(toAsk.get(0))) {
                return later(exchange, admission, ask(found, admission));
            }
            Answer answer = Answer.of(found.asks().get(0), admission, exchange, Context.of(context));
            Answer.Outcome outcome = answer.outcome();
            return outcome == null || outcome.error() != null || admission.owesFor(outcome.denial())
                    ? later(exchange, admission, answer.later())
                    : now(exchange, admission, outcome.denial());
        } catch (Throwable failed) {
            Exceptions.throwIfFatal(failed);
            return later(exchange, admission, Mono.error(Exceptions.unwrap(failed)));
        }
    }

    /** Of a request that passes, or that is denied and holds nothing. */
    private Mono<Verdict> now(ServerWebExchange exchange, Admission admission, @Nullable RateLimitDenial denial) {
        return denial == null
                ? pass(exchange, admission)
                : Mono.just(new Verdict(denial, denials.write(exchange, denial, List.of())));
    }

    private static Mono<Optional<RateLimitDenial>> ask(RuleAsks asks, Admission admission) {
        return asks.denial() == null ? Asking.all(asks.asks(), admission) : Mono.just(Optional.of(asks.denial()));
    }

    private Mono<Verdict> later(
            ServerWebExchange exchange, Admission admission, Mono<Optional<RateLimitDenial>> answer) {
        Mono<Verdict> verdict = ConnectionThread.stay(exchange, answer)
                .flatMap(denial ->
                        denial.isPresent() ? deny(exchange, admission, denial.get()) : pass(exchange, admission))
                .onErrorResume(error -> admission.giveBackAll().then(Mono.error(error)))
                .doOnCancel(admission::leave);
        return ConnectionThread.stay(exchange, verdict);
    }

    private Mono<Verdict> pass(ServerWebExchange exchange, Admission admission) {
        if (!admission.pass(exchange)) {
            return LEFT;
        }
        fields.writeAllowed(admission.grants(), exchange.getResponse());
        return PASSED;
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
