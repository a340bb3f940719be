package io.github.reactorratelimit;

import io.github.reactorratelimit.LimiterState.KeyRequest;
import io.github.reactorratelimit.RateLimiter.PermitRequest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.util.context.ContextView;

/**
 * {@link RateLimiter#acquireAll}: on the fast path if every limiter decides there, in one step if their store
 * can do that, else one after the other until one denies.
 */
final class MonoAcquireAll extends MonoRequest<JointDecision, JointDecision> {

    private final List<PermitRequest> requests;
    private final List<Mono<Decision>> answers;
    private final boolean hasFastPath;

    MonoAcquireAll(List<PermitRequest> requests) {
        this.requests = List.copyOf(requests);
        Checks.require(!this.requests.isEmpty(), "requests must not be empty");
        this.answers = new ArrayList<>(requests.size());
        boolean decidesNow = true;
        for (PermitRequest request : this.requests) {
            answers.add(request.limiter().tryAcquire(request.key(), request.permits()));
            decidesNow &= request.limiter() instanceof DefaultRateLimiter limiter && limiter.decidesNow();
        }
        this.hasFastPath = decidesNow;
    }

    /**
     * Null also if one of them cannot decide now, because it is closed for example: then that is found out
     * later.
     */
    @Override
    @Nullable
    JointDecision decideNow() {
        if (!hasFastPath) {
            return null;
        }
        Decision[] decisions = new Decision[answers.size()];
        for (int i = 0; i < decisions.length; i++) {
            Decision decision = (Decision) ((MonoRequest<?, ?>) answers.get(i)).decideNow();
            if (decision == null || !decision.allowed()) {
                undo(Arrays.asList(decisions).subList(0, i));
                decisions[i] = decision;
                return decision == null ? null : new JointDecision(List.of(Arrays.copyOf(decisions, i + 1)));
            }
            decisions[i] = decision;
        }
        return new JointDecision(List.of(decisions));
    }

    @Override
    Mono<JointDecision> decideLater(ContextView context) {
        boolean mayShareAStep = requests.stream().allMatch(request -> request.limiter() instanceof DefaultRateLimiter);
        Mono<JointDecision> oneByOne = oneByOne(List.of());
        return mayShareAStep ? inOneStep().switchIfEmpty(oneByOne) : oneByOne;
    }

    @Override
    JointDecision deliver(JointDecision decision) {
        return decision;
    }

    @Override
    void undo(JointDecision decision) {
        undo(decision.decisions());
    }

    private void undo(List<Decision> decisions) {
        for (int i = 0; i < decisions.size(); i++) {
            refundInBackground(i, decisions.get(i));
        }
    }

    /** The store counts what it could not give back. */
    private void refundInBackground(int request, Decision decision) {
        requests.get(request).limiter().refund(decision).subscribe(done -> {}, counted -> {});
    }

    /** Empty if they have to be asked one by one. */
    private Mono<JointDecision> inOneStep() {
        return Flux.fromIterable(requests)
                .concatMap(request -> limiterOf(request).keyRequest(request.key(), request.permits()))
                .collectList()
                .filter(found -> found.size() == requests.size())
                .flatMap(found -> found.get(0)
                        .state()
                        .evaluateTogether(found)
                        .doOnNext(decisions -> notifyListeners(found, decisions)))
                .map(JointDecision::new);
    }

    private static DefaultRateLimiter limiterOf(PermitRequest request) {
        return (DefaultRateLimiter) request.limiter();
    }

    private void notifyListeners(List<KeyRequest> found, List<Decision> decisions) {
        boolean kept = decisions.get(decisions.size() - 1).allowed();
        for (int i = 0; i < decisions.size(); i++) {
            limiterOf(requests.get(i)).listeners().decidedTogether(found.get(i).key(), decisions.get(i), kept);
        }
    }

    /**
     * Requests what comes after these. Each decision is refunded if one after it is denied or fails, or if the
     * subscriber cancels.
     */
    private Mono<JointDecision> oneByOne(List<Decision> before) {
        int request = before.size();
        return answers.get(request).flatMap(decision -> {
            List<Decision> decisions = new ArrayList<>(before);
            decisions.add(decision);
            if (!decision.allowed() || decisions.size() == answers.size()) {
                return Mono.just(new JointDecision(decisions));
            }
            Mono<Void> refund = requests.get(request).limiter().refund(decision);
            return oneByOne(decisions)
                    .flatMap(all -> all.allowed() ? Mono.just(all) : refund.thenReturn(all))
                    .onErrorResume(failed -> refund.then(Mono.error(failed)))
                    .doOnCancel(() -> refundInBackground(request, decision));
        });
    }
}
