package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimiter.PermitRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Requests permits of several limiters, all or nothing: in one step where their store can do that, else in order. */
final class JointAcquire {

    private JointAcquire() {}

    static Mono<JointDecision> of(List<PermitRequest> requests) {
        List<PermitRequest> inOrder = List.copyOf(requests);
        if (inOrder.isEmpty()) {
            throw new IllegalArgumentException("requests must not be empty");
        }
        MonoAcquireAll immediate = MonoAcquireAll.of(inOrder);
        if (immediate != null) {
            return immediate;
        }
        List<Mono<Decision>> answers = inOrder.stream()
                .map(request -> request.limiter().tryAcquire(request.key(), request.permits()))
                .toList();
        Mono<JointDecision> oneByOne = Mono.usingWhen(
                Mono.fromSupplier(() -> new Taken(inOrder)),
                taken -> taken.requestUntilDenied(answers),
                Taken::settle,
                (taken, error) -> taken.giveBack(),
                Taken::giveBack);
        return mayShareAStep(inOrder) ? inOneStep(inOrder).switchIfEmpty(oneByOne) : oneByOne;
    }

    private static boolean mayShareAStep(List<PermitRequest> requests) {
        return requests.size() > 1
                && requests.stream()
                        .allMatch(request -> request.limiter() instanceof DefaultRateLimiter limiter
                                && limiter.state() instanceof JointState);
    }

    /** Empty if they have to be asked one by one. */
    private static Mono<JointDecision> inOneStep(List<PermitRequest> requests) {
        return Flux.fromIterable(requests)
                .concatMap(
                        request -> ((DefaultRateLimiter) request.limiter()).jointTake(request.key(), request.permits()))
                .collectList()
                .filter(takes -> takes.size() == requests.size())
                .flatMap(takes -> ((JointState) takes.get(0).state())
                        .evaluateTogether(takes)
                        .doOnNext(decisions -> tellListeners(takes, requests, decisions)))
                .map(JointDecision::new);
    }

    private static void tellListeners(
            List<JointState.Take> takes, List<PermitRequest> requests, List<Decision> decisions) {
        boolean kept = decisions.get(decisions.size() - 1).allowed();
        for (int i = 0; i < decisions.size(); i++) {
            ((DefaultRateLimiter) requests.get(i).limiter())
                    .listeners()
                    .decidedTogether(takes.get(i).key(), decisions.get(i), kept);
        }
    }

    /** What one subscription has taken so far. Decisions may still come in when the subscriber has left. */
    private static final class Taken {

        private final List<PermitRequest> requests;

        /** Those that count; null once they were given back: whoever takes the list out owns what is in it. */
        private final AtomicReference<@Nullable List<Decision>> decisions = new AtomicReference<>(List.of());

        Taken(List<PermitRequest> requests) {
            this.requests = requests;
        }

        Mono<JointDecision> requestUntilDenied(List<Mono<Decision>> answers) {
            return Flux.range(0, answers.size())
                    .concatMap(
                            i -> answers.get(i)
                                    .doOnNext(decision -> add(requests.get(i).limiter(), decision)),
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
                limiter.refund(decision).subscribe(done -> {}, counted -> {});
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
                                .concatMap(i -> requests.get(i).limiter().refund(mine.get(i)))
                                .then();
            });
        }
    }
}
