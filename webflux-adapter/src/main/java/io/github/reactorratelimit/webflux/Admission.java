package io.github.reactorratelimit.webflux;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * What one request holds, of all rules that have let it pass so far: in the filter, in a second one after authentication, in its
 * handler. It lies in the attributes of the exchange, so that a denial by a later one gives back what earlier ones took.
 *
 * <p>One reference says what is held, and only whoever takes a list out of it gives back what is in it: so every grant is given back
 * at most once, and one that comes in when the request is over, because its client left, goes back at once. A grant
 * leaves in one of three ways: all go back when the request is denied or its client leaves before it was let pass; those that
 * do not count go back when the status is known; leases go back when the request has ended.
 */
final class Admission {

    private static final String ATTRIBUTE = Admission.class.getName();

    /** Null once the request is over. */
    private final AtomicReference<@Nullable List<Grant>> held = new AtomicReference<>(List.of());

    private final AtomicReference<State> state = new AtomicReference<>(State.PASSED);

    /** Written by the thread that lets pass, before the handler begins. */
    private boolean settlesOnCommit;

    enum State {
        /** Limiters are being asked, and what comes after them has not begun. */
        DECIDING,
        /** Those asked so far let it pass: its permits are spent, whatever becomes of it. */
        PASSED,
        /** The client left while it was being decided: nothing was used, and nothing may begin any more. */
        LEFT
    }

    /** Of this exchange; made when it is first asked for. */
    static Admission of(ServerWebExchange exchange) {
        return (Admission) exchange.getAttributes().computeIfAbsent(ATTRIBUTE, name -> new Admission());
    }

    static boolean isKnown(ServerWebExchange exchange) {
        return exchange.getAttributes().containsKey(ATTRIBUTE);
    }

    /** What is held now; empty when the request is over. */
    List<Grant> grants() {
        List<Grant> now = held.get();
        return now == null ? List.of() : now;
    }

    /** Whether the rule has let this request pass already: it counts it once. */
    boolean has(RateLimitRule rule) {
        for (Grant grant : grants()) {
            if (grant.rule() == rule) {
                return true;
            }
        }
        return false;
    }

    void add(Grant grant) {
        List<Grant> seen = held.get();
        while (seen != null && !held.compareAndSet(seen, with(seen, grant))) {
            seen = held.get();
        }
        if (seen == null) {
            grant.giveBack().subscribe();
        }
    }

    private static List<Grant> with(List<Grant> seen, Grant grant) {
        List<Grant> more = new ArrayList<>(seen.size() + 1);
        more.addAll(seen);
        more.add(grant);
        return more;
    }

    void decide() {
        state.compareAndSet(State.PASSED, State.DECIDING);
    }

    /** Lets it pass; false if the client left before. */
    boolean pass(ServerWebExchange exchange) {
        if (!state.compareAndSet(State.DECIDING, State.PASSED)) {
            return false;
        }
        if (!settlesOnCommit
                && grants().stream().anyMatch(grant -> grant.rule().counted().isPresent())) {
            settlesOnCommit = true;
            exchange.getResponse().beforeCommit(() -> settle(exchange));
        }
        return true;
    }

    /** Gives everything back. */
    Mono<Void> giveBack() {
        return Mono.defer(() -> giveBack(held.getAndSet(null)));
    }

    private static Mono<Void> giveBack(@Nullable List<Grant> grants) {
        return grants == null || grants.isEmpty()
                ? Mono.empty()
                : Flux.fromIterable(grants).concatMap(Grant::giveBack).then();
    }

    /** The client left. Does nothing if it was let pass before that. */
    void leave() {
        if (state.compareAndSet(State.DECIDING, State.LEFT)) {
            giveBack().subscribe();
        }
    }

    /** The request has ended: what is held while it runs goes back. */
    Mono<Void> end() {
        return Mono.defer(() -> giveBack(takeOut(grant -> grant.lease() != null)));
    }

    /** Gives back what does not count, now that the status is known. */
    private Mono<Void> settle(ServerWebExchange exchange) {
        return Mono.defer(() -> giveBack(takeOut(grant -> grant.rule()
                .counted()
                .filter(counted -> !counts(counted, exchange))
                .isPresent())));
    }

    private static boolean counts(Predicate<ServerWebExchange> counted, ServerWebExchange exchange) {
        try {
            return counted.test(exchange);
        } catch (RuntimeException unknown) {
            return true;
        }
    }

    private List<Grant> takeOut(Predicate<Grant> which) {
        List<Grant> seen = held.get();
        while (seen != null) {
            List<Grant> out = seen.stream().filter(which).toList();
            if (held.compareAndSet(
                    seen, seen.stream().filter(grant -> !out.contains(grant)).toList())) {
                return out;
            }
            seen = held.get();
        }
        return List.of();
    }
}
