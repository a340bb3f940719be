package io.github.reactorratelimit;

import java.util.ArrayList;
import java.util.List;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Asks several limiters in order, all or nothing. */
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
        return Mono.usingWhen(
                Mono.fromSupplier(() -> new Taken(inOrder)),
                taken -> taken.askUntilDenied(requests),
                Taken::settle,
                (taken, error) -> taken.giveBack(),
                Taken::giveBack);
    }

    /** What one subscription has taken so far. */
    private static final class Taken {

        private final List<RateLimiter.Ask> asks;
        private final List<Decision> decisions = new ArrayList<>();

        Taken(List<RateLimiter.Ask> asks) {
            this.asks = asks;
        }

        Mono<JointDecision> askUntilDenied(List<Mono<Decision>> requests) {
            return Flux.concat(requests)
                    .doOnNext(decisions::add)
                    .takeUntil(decision -> !decision.allowed())
                    .then(Mono.fromSupplier(() -> new JointDecision(decisions)));
        }

        Mono<Void> settle() {
            return decisions.get(decisions.size() - 1).allowed() ? Mono.empty() : giveBack();
        }

        Mono<Void> giveBack() {
            return Flux.range(0, decisions.size())
                    .concatMap(i -> asks.get(i).limiter().refund(decisions.get(i)))
                    .then();
        }
    }
}
