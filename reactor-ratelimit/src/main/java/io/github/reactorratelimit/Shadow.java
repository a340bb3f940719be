package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimitRecorder.Event;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import reactor.core.publisher.Mono;

/**
 * A policy that only counts what it would have decided. It gets every request of the live policy, also the
 * denied ones, and resets, pauses and refunds: as if it were in effect alone. A request that may wait is a
 * {@code tryAcquire} for it, made on arrival. No live request is delayed, denied or failed by it.
 */
final class Shadow {

    private final LimiterState state;
    private final RateLimitPolicy policy;
    private final RateLimitRecorder recorder;

    /** @param policy in effect for all keys */
    Shadow(LimiterState state, RateLimitPolicy policy, RateLimitRecorder recorder) {
        this.state = state;
        this.policy = policy;
        this.recorder = recorder;
    }

    /** The same request here; decides now or later, once. */
    Mono<Decision> request(String key, long permits) {
        if (permits > policy.capacity()) {
            recorder.counted(Event.SHADOW_DENIED, permits);
            return Mono.empty();
        }
        Mono<Decision> decided = Mono.defer(() -> state.evaluate(key, null, permits))
                .doOnNext(decision -> recorder.counted(
                        decision.allowed() ? Event.SHADOW_ALLOWED : Event.SHADOW_DENIED, decision.permits()))
                .cache();
        run(decided);
        return decided;
    }

    /**
     * The live request, with the same request here. That comes first: a subscriber that gets its decision may
     * request again at once, and must not overtake itself. If the subscriber cancels before the decision, the
     * permits come back here too.
     */
    Mono<Decision> beside(Mono<Decision> live, String key, long permits) {
        return Mono.defer(() -> {
            Mono<Decision> shadowed = request(key, permits);
            AtomicBoolean isDecided = new AtomicBoolean();
            return live.doOnNext(decision -> {
                        isDecided.set(true);
                        refundWith(decision, shadowed);
                    })
                    .doOnCancel(() -> {
                        if (!isDecided.get()) {
                            refund(shadowed, Long.MAX_VALUE);
                        }
                    });
        });
    }

    /**
     * If permits of the live decision come back, so do those here. A released lease is no refund: its rate
     * stays spent.
     */
    void refundWith(Decision live, Mono<Decision> shadowed) {
        Debit debit = live.debitOrNull();
        if (debit != null && !debit.policy().needsRelease()) {
            debit.onRefund(permits -> refund(shadowed, permits));
        }
    }

    /** Gives back as many permits as the live request does: all, or what a reservation did not spend. */
    void refund(Mono<Decision> shadowed, long permits) {
        run(shadowed.flatMap(decision -> {
            Debit debit = decision.debitOrNull();
            return debit != null && debit.claim()
                    ? state.refund(debit.part(Math.min(permits, debit.permits())))
                    : Mono.empty();
        }));
    }

    /** Makes a change of the live state here too. */
    void follow(Function<LimiterState, Mono<?>> change) {
        run(Mono.defer(() -> change.apply(state)));
    }

    void charge(String key, long permits, long maxDebt) {
        if (policy.settles()) {
            follow(in -> in.charge(key, null, permits, maxDebt));
        }
    }

    Mono<Void> close() {
        return state.close().onErrorComplete();
    }

    private void run(Mono<?> call) {
        call.subscribe(done -> {}, failure -> recorder.counted(Event.SHADOW_FAILED, 0));
    }
}
