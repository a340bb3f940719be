package io.github.reactorratelimit.webflux;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/**
 * The permits that one request holds, of all rules that have allowed it so far: in the filter, in a second filter
 * after authentication, in its handler. It is an attribute of the exchange, so that a later denial refunds what
 * earlier rules granted.
 *
 * <p>One reference holds the grants. Only the caller that takes a grant out of it refunds it, so that each grant is
 * refunded at most once; a grant that arrives after the client cancelled is refunded immediately. All grants go back
 * if the request is denied, fails or is cancelled while it is decided. Grants that do not count go back when the
 * status is known, leases when the request has ended.
 *
 * <p>One compare-and-set decides whether the client cancelled before or after the request was allowed: a request
 * whose permits went back does not continue. An application may retry a denied or cancelled request, perhaps from a
 * later filter on; so rules whose grants went back are evaluated again by the next evaluation.
 */
final class RequestPermits {

    private static final String ATTRIBUTE = RequestPermits.class.getName();

    /** Set while a filter waits for the end of the request. Separate, because a retry replaces the permits. */
    private static final String RELEASED_BY_FILTER = ATTRIBUTE + ".releasedByFilter";

    private final AtomicReference<Phase> phase = new AtomicReference<>(Phase.ALLOWED);

    /** Null after the client cancelled. */
    private final AtomicReference<@Nullable List<Grant>> held = new AtomicReference<>(List.of());

    /** Rules that had allowed the request and whose grants were refunded. */
    private volatile Set<RateLimitRule> rulesToReacquire = Set.of();

    /** Written by the thread that allows the request, before the handler begins. */
    private boolean settlesOnCommit;

    enum Phase {
        /** Rules are being evaluated; nothing behind them has begun. */
        DECIDING,
        /** The rules so far allowed the request: its permits are spent, however it ends. */
        ALLOWED,
        /** The client cancelled while rules were evaluated: nothing is spent, and nothing may begin. */
        CANCELLED
    }

    /** The permits of this exchange; new ones if there are none, or if it was cancelled and is retried. */
    static RequestPermits of(ServerWebExchange exchange) {
        return (RequestPermits) Objects.requireNonNull(exchange.getAttributes()
                .compute(
                        ATTRIBUTE,
                        (name, known) ->
                                known instanceof RequestPermits permits ? permits.current() : new RequestPermits()));
    }

    private RequestPermits current() {
        if (phase.get() != Phase.CANCELLED) {
            return this;
        }
        RequestPermits retried = new RequestPermits();
        retried.rulesToReacquire = rulesToReacquire;
        return retried;
    }

    /**
     * Runs a request and releases its leases when it has ended, on the event loop on which it began. Only the outermost
     * filter does: a request that is retried behind it still holds what that filter acquired.
     */
    static Mono<Void> releasingLeases(ServerWebExchange exchange, Mono<Void> request) {
        return Mono.defer(() -> {
            if (exchange.getAttributes().putIfAbsent(RELEASED_BY_FILTER, true) != null) {
                return request;
            }
            Mono<Void> release = EventLoopAffinity.continueOn(exchange, Mono.defer(() -> releaseLeases(exchange)));
            return Mono.usingWhen(
                    Mono.just(exchange), held -> request, held -> release, (held, error) -> release, held -> release);
        });
    }

    private static Mono<Void> releaseLeases(ServerWebExchange exchange) {
        exchange.getAttributes().remove(RELEASED_BY_FILTER);
        return exchange.getAttribute(ATTRIBUTE) instanceof RequestPermits permits
                ? giveBack(permits.takeOut(grant -> grant.lease() != null))
                : Mono.empty();
    }

    /**
     * Checks that a filter will release leases: a handler ends before its response is sent, and only a filter knows
     * when that has happened.
     *
     * @throws IllegalStateException if one of these rules needs a release and no filter waits for the end
     */
    static void requireFilterForConcurrency(ServerWebExchange exchange, List<RateLimitRule> rules) {
        if (!exchange.getAttributes().containsKey(RELEASED_BY_FILTER)
                && rules.stream().anyMatch(RateLimitRule::isConcurrency)) {
            throw new IllegalStateException("a rule with a ConcurrencyLimit needs a RateLimitWebFilter of the same"
                    + " engine in the application: it gives the permits back when the response has been sent");
        }
    }

    /** The grants that are held now. */
    List<Grant> grants() {
        List<Grant> now = held.get();
        return now == null ? List.of() : now;
    }

    /** Begins to decide. Returns the rules to evaluate: without those that have allowed the request already. */
    List<RateLimitRule> begin(List<RateLimitRule> rules) {
        List<RateLimitRule> pending = rulesToReacquire.isEmpty() && grants().isEmpty() ? rules : withoutHeld(rules);
        if (!pending.isEmpty()) {
            phase.compareAndSet(Phase.ALLOWED, Phase.DECIDING);
        }
        return pending;
    }

    private List<RateLimitRule> withoutHeld(List<RateLimitRule> rules) {
        Set<RateLimitRule> pending = new LinkedHashSet<>(rulesToReacquire);
        pending.addAll(rules);
        grants().forEach(grant -> pending.remove(grant.rule()));
        return List.copyOf(pending);
    }

    /** Holds a grant, or refunds it if the client cancelled. */
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
        if (seen.isEmpty()) {
            return List.of(grant);
        }
        List<Grant> more = new ArrayList<>(seen);
        more.add(grant);
        return more;
    }

    /**
     * Allows the request; false if the client cancelled before.
     *
     * @param exchange null if the request is not known; then no rule counts by its outcome
     */
    boolean allow(@Nullable ServerWebExchange exchange) {
        if (!phase.compareAndSet(Phase.DECIDING, Phase.ALLOWED)) {
            return false;
        }
        rulesToReacquire = Set.of();
        if (exchange != null && !settlesOnCommit && isCountedByOutcome()) {
            settlesOnCommit = true;
            exchange.getResponse().beforeCommit(() -> refundUncounted(exchange));
        }
        return true;
    }

    private boolean isCountedByOutcome() {
        for (Grant grant : grants()) {
            if (grant.rule().isCountedByOutcome()) {
                return true;
            }
        }
        return false;
    }

    /** Refunds the grants that do not count, now that the status is known. */
    private Mono<Void> refundUncounted(ServerWebExchange exchange) {
        return EventLoopAffinity.continueOn(
                exchange,
                Mono.defer(() -> giveBack(takeOut(grant -> !grant.rule().counts(exchange)))));
    }

    /** Refunds everything: the request was denied or failed. */
    Mono<Void> refundAll() {
        List<Grant> all = takeOut(grant -> true);
        reacquire(all);
        return giveBack(all);
    }

    /** The client cancelled. Refunds everything, unless the request was allowed before that. */
    void cancel() {
        if (phase.compareAndSet(Phase.DECIDING, Phase.CANCELLED)) {
            List<Grant> all = held.getAndSet(null);
            if (all != null) {
                reacquire(all);
                giveBack(all).subscribe();
            }
        }
    }

    private void reacquire(List<Grant> refunded) {
        Set<RateLimitRule> more = new LinkedHashSet<>(rulesToReacquire);
        refunded.forEach(grant -> more.add(grant.rule()));
        rulesToReacquire = more;
    }

    /** Begins immediately and continues if its subscriber cancels: nothing else could give back what was taken out. */
    private static Mono<Void> giveBack(List<Grant> grants) {
        if (grants.isEmpty()) {
            return Mono.empty();
        }
        List<Mono<Void>> all = grants.stream().map(Grant::giveBack).toList();
        return Mono.fromFuture(Mono.whenDelayError(all).toFuture(), true);
    }

    private List<Grant> takeOut(Predicate<Grant> which) {
        for (List<Grant> seen = held.get(); seen != null; seen = held.get()) {
            List<Grant> out = seen.stream().filter(which).toList();
            List<Grant> others =
                    seen.stream().filter(grant -> !out.contains(grant)).toList();
            if (held.compareAndSet(seen, others)) {
                return out;
            }
        }
        return List.of();
    }
}
