package io.github.reactorratelimit;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Asks several limiters, all or nothing: in one step where their store can do that, else in order. */
final class JointAcquire {

    private JointAcquire() {}

    static Mono<JointDecision> of(List<RateLimiter.Ask> asks) {
        List<RateLimiter.Ask> inOrder = List.copyOf(asks);
        if (inOrder.isEmpty()) {
            throw new IllegalArgumentException("asks must not be empty");
        }
        List<Mono<Decision>> requests = inOrder.stream()
                .map(ask -> ask.limiter().tryAcquire(ask.key(), ask.permits()))
                .toList();
        Mono<JointDecision> oneByOne = Mono.usingWhen(
                Mono.fromSupplier(() -> new Taken(inOrder)),
                taken -> taken.askUntilDenied(requests),
                Taken::settle,
                (taken, error) -> taken.giveBack(),
                Taken::giveBack);
        return mayShareAStep(inOrder) ? inOneStep(inOrder).switchIfEmpty(oneByOne) : oneByOne;
    }

    private static boolean mayShareAStep(List<RateLimiter.Ask> asks) {
        return asks.size() > 1
                && asks.stream()
                        .allMatch(ask -> ask.limiter() instanceof DefaultRateLimiter limiter
                                && WrappedState.innermost(limiter.state()) instanceof JointState);
    }

    /** Empty if they have to be asked one by one. */
    private static Mono<JointDecision> inOneStep(List<RateLimiter.Ask> asks) {
        return Flux.fromIterable(asks)
                .concatMap(ask -> ((DefaultRateLimiter) ask.limiter()).jointTake(ask.key(), ask.permits()))
                .collectList()
                .filter(takes -> takes.size() == asks.size())
                .flatMap(WrappedState::evaluateTogether)
                .map(JointDecision::new)
                .doOnNext(joint -> record(asks, joint));
    }

    private static void record(List<RateLimiter.Ask> asks, JointDecision joint) {
        List<Decision> decisions = joint.decisions();
        for (int i = joint.allowed() ? 0 : decisions.size() - 1; i < decisions.size(); i++) {
            ((DefaultRateLimiter) asks.get(i).limiter()).record(decisions.get(i));
        }
    }

    /** What one subscription has taken so far. Decisions may still come in when the subscriber has left. */
    private static final class Taken {

        private final List<RateLimiter.Ask> asks;

        /** Those that count; null once they were given back: whoever takes the list out owns what is in it. */
        private final AtomicReference<@Nullable List<Decision>> decisions = new AtomicReference<>(List.of());

        Taken(List<RateLimiter.Ask> asks) {
            this.asks = asks;
        }

        Mono<JointDecision> askUntilDenied(List<Mono<Decision>> requests) {
            return Flux.range(0, requests.size())
                    .concatMap(
                            i -> requests.get(i)
                                    .doOnNext(decision -> add(asks.get(i).limiter(), decision)),
                            0)
                    .takeUntil(decision -> !decision.allowed())
                    .collectList()
                    .map(JointDecision::new);
        }

        private void add(RateLimiter limiter, Decision decision) {
            List<Decision> seen = decisions.get();
            while (seen != null && !decisions.compareAndSet(seen, with(seen, decision))) {
                seen = decisions.get();
            }
            if (seen == null && decision.allowed()) {
                limiter.refund(decision).subscribe();
            }
        }

        private static List<Decision> with(List<Decision> seen, Decision decision) {
            List<Decision> more = new ArrayList<>(seen);
            more.add(decision);
            return more;
        }

        Mono<Void> settle() {
            List<Decision> all = decisions.get();
            boolean allowed = all == null || all.get(all.size() - 1).allowed();
            return allowed ? Mono.empty() : giveBack();
        }

        Mono<Void> giveBack() {
            return Mono.defer(() -> {
                List<Decision> mine = decisions.getAndSet(null);
                return mine == null
                        ? Mono.empty()
                        : Flux.range(0, mine.size())
                                .concatMap(i -> asks.get(i).limiter().refund(mine.get(i)))
                                .then();
            });
        }
    }
}
