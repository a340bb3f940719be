package io.github.reactorratelimit;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
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
