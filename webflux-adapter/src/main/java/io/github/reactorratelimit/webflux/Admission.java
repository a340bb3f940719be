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
 * What one request holds, of all rules that have let it pass so far: in the filter, in a second one after authentication, in its
 * handler. It lies in the attributes of the exchange, so that a denial by a later one gives back what earlier ones took.
 *
 * <p>One reference says what is held, and only whoever takes a grant out of it gives it back: so every grant is given back at most
 * once, and one that comes in when the client has left goes back at once. A grant leaves in one of three ways: all go back when the
 * request is denied, fails while it is being decided, or loses its client then; those that do not count go back when the status
 * is known; leases go back when the request has ended.
 *
 * <p>Whether the client left before or after the request was let pass is decided by one compare-and-set: a request whose permits
 * went back does not go on. An application may try a request again that was denied or timed out, perhaps only from some filter on;
 * so rules whose grants went back are asked again by whoever asks next.
 */
final class Admission {

    private static final String ATTRIBUTE = Admission.class.getName();

    /** Set while a filter waits for the end of the request; apart from the admission, which may be replaced meanwhile. */
    private static final String ENDS_IN_FILTER = ATTRIBUTE + ".endsInFilter";

    private final AtomicReference<State> state = new AtomicReference<>(State.PASSED);

    /** Null once the client has left. */
    private final AtomicReference<@Nullable List<Grant>> held = new AtomicReference<>(List.of());

    /** Rules that had let it pass, and were given back what they had granted. */
    private volatile Set<RateLimitRule> owed = Set.of();

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

    /** Of this exchange; a new one when there is none, or it was left and is tried again. */
    static Admission of(ServerWebExchange exchange) {
        return (Admission) Objects.requireNonNull(exchange.getAttributes()
                .compute(
                        ATTRIBUTE,
                        (name, known) -> known instanceof Admission admission ? admission.current() : new Admission()));
    }

    private Admission current() {
        if (state.get() != State.LEFT) {
            return this;
        }
        Admission again = new Admission();
        again.owed = owed;
        return again;
    }

    /** Whether the caller is the one that has to {@linkplain #endInFilter end} the request; false if another filter has. */
    static boolean beginInFilter(ServerWebExchange exchange) {
        return exchange.getAttributes().putIfAbsent(ENDS_IN_FILTER, true) == null;
    }

    /**
     * A handler has done its work before its response is sent, and others may send another one; only a filter knows when that has ended.
     *
     * @throws IllegalStateException if one of these rules holds permits until then, and no filter waits for it
     */
    static void requireFilterForConcurrency(ServerWebExchange exchange, List<RateLimitRule> rules) {
        if (!exchange.getAttributes().containsKey(ENDS_IN_FILTER)
                && rules.stream().anyMatch(RateLimitRule::isConcurrency)) {
            throw new IllegalStateException("a rule with a ConcurrencyLimit needs a RateLimitWebFilter of the same"
                    + " engine in the application: it gives the permits back when the response has been sent");
        }
    }

    /** The request has ended: what it held while it ran goes back. */
    static Mono<Void> endInFilter(ServerWebExchange exchange) {
        return Mono.defer(() -> {
            exchange.getAttributes().remove(ENDS_IN_FILTER);
            return exchange.getAttribute(ATTRIBUTE) instanceof Admission admission
                    ? giveBack(admission.takeOut(grant -> grant.lease() != null))
                    : Mono.empty();
        });
    }

    /** What is held now. */
    List<Grant> grants() {
        List<Grant> now = held.get();
        return now == null ? List.of() : now;
    }

    /** Begins to ask these rules, but for those that have let the request pass: a rule counts it once. Returns whom to ask. */
    List<RateLimitRule> decide(List<RateLimitRule> rules) {
        List<RateLimitRule> toAsk = owed.isEmpty() && grants().isEmpty() ? rules : notAsked(rules);
        if (!toAsk.isEmpty()) {
            state.compareAndSet(State.PASSED, State.DECIDING);
        }
        return toAsk;
    }

    private List<RateLimitRule> notAsked(List<RateLimitRule> rules) {
        Set<RateLimitRule> toAsk = new LinkedHashSet<>(owed);
        toAsk.addAll(rules);
        grants().forEach(grant -> toAsk.remove(grant.rule()));
        return List.copyOf(toAsk);
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
        if (seen.isEmpty()) {
            return List.of(grant);
        }
        List<Grant> more = new ArrayList<>(seen.size() + 1);
        more.addAll(seen);
        more.add(grant);
        return more;
    }

    /** Lets it pass; false if the client left before. */
    boolean pass(ServerWebExchange exchange) {
        if (!pass()) {
            return false;
        }
        if (!settlesOnCommit && isCountedByOutcome(grants())) {
            settlesOnCommit = true;
            exchange.getResponse().beforeCommit(() -> settle(exchange));
        }
        return true;
    }

    /** The same where nothing has to be settled later. */
    boolean pass() {
        if (!state.compareAndSet(State.DECIDING, State.PASSED)) {
            return false;
        }
        owed = Set.of();
        return true;
    }

    private static boolean isCountedByOutcome(List<Grant> grants) {
        for (Grant grant : grants) {
            if (grant.rule().isCountedByOutcome()) {
                return true;
            }
        }
        return false;
    }

    /** Whether something has to go back before this denial, if it is one, is answered. */
    boolean owesFor(@Nullable RateLimitDenial denial) {
        return denial != null && !grants().isEmpty();
    }

    /** It was denied, or failed: gives everything back. */
    Mono<Void> giveBackAll() {
        return Mono.defer(() -> {
            List<Grant> all = takeOut(grant -> true);
            owe(all);
            return giveBack(all);
        });
    }

    /** The client left. Does nothing if it was let pass before that. */
    void leave() {
        if (state.compareAndSet(State.DECIDING, State.LEFT)) {
            List<Grant> all = held.getAndSet(null);
            if (all != null) {
                owe(all);
                giveBack(all).subscribe();
            }
        }
    }

    private void owe(List<Grant> grants) {
        Set<RateLimitRule> more = new LinkedHashSet<>(owed);
        grants.forEach(grant -> more.add(grant.rule()));
        owed = more;
    }

    /** Begins at once, and goes on if whoever waits for it is cancelled: nobody else could give back what was taken out. */
    private static Mono<Void> giveBack(List<Grant> grants) {
        if (grants.isEmpty()) {
            return Mono.empty();
        }
        List<Mono<Void>> all = grants.stream().map(Grant::giveBack).toList();
        return Mono.fromFuture(Mono.whenDelayError(all).toFuture(), true);
    }

    /** Gives back what does not count, now that the status is known. */
    private Mono<Void> settle(ServerWebExchange exchange) {
        return ConnectionThread.stay(
                exchange,
                Mono.defer(() -> giveBack(takeOut(grant -> !grant.rule().counts(exchange)))));
    }

    private List<Grant> takeOut(Predicate<Grant> which) {
        List<Grant> seen = held.get();
        while (seen != null) {
            List<Grant> out = seen.stream().filter(which).toList();
            List<Grant> others =
                    seen.stream().filter(grant -> !out.contains(grant)).toList();
            if (held.compareAndSet(seen, others)) {
                return out;
            }
            seen = held.get();
        }
        return List.of();
    }
}
