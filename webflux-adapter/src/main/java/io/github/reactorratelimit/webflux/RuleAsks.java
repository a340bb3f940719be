package io.github.reactorratelimit.webflux;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.Exceptions;
import reactor.core.publisher.Mono;

/**
 * What the rules of a request ask for: their keys and costs. All of them are found before any limiter is asked, so that a request
 * without a key costs nothing.
 *
 * @param asks in the order of the rules
 * @param denial null unless a key is missing, or did not come in time
 */
record RuleAsks(List<RuleAsk> asks, @Nullable RateLimitDenial denial) {

    /** Cannot be sent in a header; whoever sends it otherwise only counts with those who have no key. */
    private static final String NO_KEY = "\u0000none";

    static Mono<RuleAsks> of(ServerWebExchange exchange, List<RateLimitRule> rules, Duration keyTimeout) {
        return new Finder(exchange, rules, keyTimeout).next(0);
    }

    /** Of one rule, whose key somebody else has found. An empty key is none: a client may send an empty header. */
    static RuleAsks of(RateLimitRule rule, String key, long permits) {
        if (key.isEmpty() && rule.missingKey() instanceof MissingKey.Deny deny) {
            return denied(RateLimitDenial.missingKey(rule, deny.status()));
        }
        return new RuleAsks(List.of(new RuleAsk(rule, key.isEmpty() ? NO_KEY : key, permits)), null);
    }

    /** These, behind those of other rules that have to be asked too. A request that is not at hand has no others. */
    Mono<RuleAsks> withOthers(List<RateLimitRule> toAsk, @Nullable ServerWebExchange exchange, Duration keyTimeout) {
        List<RateLimitRule> others = toAsk.stream()
                .filter(rule -> asks.stream().noneMatch(ask -> ask.rule() == rule))
                .toList();
        return denial != null || exchange == null || others.isEmpty()
                ? Mono.just(this)
                : of(exchange, others, keyTimeout).map(found -> found.denial() == null ? found.and(this) : found);
    }

    private RuleAsks and(RuleAsks more) {
        return new RuleAsks(Stream.concat(asks.stream(), more.asks.stream()).toList(), null);
    }

    private static RuleAsks denied(RateLimitDenial denial) {
        return new RuleAsks(List.of(), denial);
    }

    /** Goes through the rules of one request. Keys that are known at once, which most are, cost no operator. */
    private static final class Finder {

        private final ServerWebExchange exchange;
        private final List<RateLimitRule> rules;
        private final Duration keyTimeout;
        private final List<RuleAsk> found;

        Finder(ServerWebExchange exchange, List<RateLimitRule> rules, Duration keyTimeout) {
            this.exchange = exchange;
            this.rules = rules;
            this.keyTimeout = keyTimeout;
            this.found = new ArrayList<>(rules.size());
        }

        Mono<RuleAsks> next(int from) {
            for (int i = from; i < rules.size(); i++) {
                RateLimitRule rule = rules.get(i);
                Mono<String> key = rule.key().resolve(exchange);
                if (!(key instanceof Callable<?> known)) {
                    return later(key, i);
                }
                RateLimitDenial denial = add(rule, valueOf(known));
                if (denial != null) {
                    return Mono.just(denied(denial));
                }
            }
            return Mono.just(new RuleAsks(found, null));
        }

        private Mono<RuleAsks> later(Mono<String> key, int index) {
            RateLimitRule rule = rules.get(index);
            return key.defaultIfEmpty("")
                    .map(Optional::of)
                    .timeout(keyTimeout, Mono.just(Optional.empty()))
                    .flatMap(value -> {
                        RateLimitDenial denial =
                                value.isPresent() ? add(rule, value.get()) : RateLimitDenial.failed(rule);
                        return denial == null ? next(index + 1) : Mono.just(denied(denial));
                    });
        }

        private static String valueOf(Callable<?> known) {
            try {
                Object value = known.call();
                return value == null ? "" : (String) value;
            } catch (Exception failed) {
                throw Exceptions.propagate(failed);
            }
        }

        /** Adds what the rule asks for, or says why it denies. An empty key is none: a client may send an empty header. */
        private @Nullable RateLimitDenial add(RateLimitRule rule, String key) {
            if (key.isEmpty() && rule.missingKey() instanceof MissingKey.Deny deny) {
                return RateLimitDenial.missingKey(rule, deny.status());
            }
            long permits = rule.cost().permits(exchange);
            if (permits < 1) {
                throw new IllegalArgumentException(
                        "cost of rule '" + rule.name() + "' must be positive, was " + permits);
            }
            found.add(new RuleAsk(rule, key.isEmpty() ? NO_KEY : key, permits));
            return null;
        }
    }
}
