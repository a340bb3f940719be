package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimitRecorder.Event;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * The listeners of a limiter's decisions: its recorders and its shadow. No request waits for them or fails
 * with them.
 *
 * <p>The shadow is a policy that only counts what it would have decided. It gets every request of the live
 * policy, also the denied ones, and resets, pauses and refunds: as if it were in effect alone. A request that
 * may wait is a {@code tryAcquire} for it, made on arrival.
 *
 * @param recorder counts decisions, also by key
 * @param shadow the state of the shadow, whose policy is in effect for all keys; null if there is none
 */
record DecisionListeners(GuardedRecorder recorder, @Nullable Shadow shadow) {

    /** The policy of a shadow, and its state. */
    record Shadow(RateLimitPolicy policy, LimiterState state) {}

    /** Whether there are none. */
    boolean isEmpty() {
        return recorder.isEmpty() && shadow == null;
    }

    /** A request was decided on the fast path. With a shadow its permits are spent for good. */
    void decidedNow(String key, boolean allowed, long permits) {
        recorder.decided(key, allowed, permits);
        if (shadow != null) {
            request(shadow, key, permits);
        }
    }

    /**
     * A request together with others was decided.
     *
     * @param kept false if another was denied: then nothing was taken
     */
    void decidedTogether(String key, Decision decision, boolean kept) {
        boolean counts = kept || !decision.allowed();
        if (shadow != null) {
            Mono<Decision> shadowed = request(shadow, key, decision.permits());
            if (counts) {
                refundWith(shadow, decision, shadowed);
            } else {
                refund(shadow, shadowed, decision.permits());
            }
        }
        if (counts) {
            recorder.decided(key, decision.allowed(), decision.permits());
        }
    }

    /**
     * The request, with its decision passed to the listeners. The shadow comes first: a subscriber that gets
     * its decision may request again at once, and must not overtake itself. If the subscriber cancels before
     * the decision, the permits come back there too.
     */
    Mono<Decision> listen(LimiterState live, String key, long permits, Mono<Decision> request) {
        Mono<Decision> heard = request.doOnNext(decision -> recorder.decided(key, decision.allowed(), permits));
        Shadow beside = shadow;
        if (beside == null || live.isClosed()) {
            return heard;
        }
        return Mono.defer(() -> {
            Mono<Decision> shadowed = request(beside, key, permits);
            AtomicBoolean isDecided = new AtomicBoolean();
            return heard.doOnNext(decision -> {
                        isDecided.set(true);
                        refundWith(beside, decision, shadowed);
                    })
                    .doOnCancel(() -> {
                        if (!isDecided.get()) {
                            refund(beside, shadowed, Long.MAX_VALUE);
                        }
                    });
        });
    }

    /** A change of the live state that the shadow makes too. */
    <T> Mono<T> alongside(Mono<T> live, Function<LimiterState, Mono<?>> change) {
        Shadow beside = shadow;
        return beside == null
                ? live
                : Mono.defer(() -> {
                    run(Mono.defer(() -> change.apply(beside.state)));
                    return live;
                });
    }

    /** A key is charged without a request. */
    void charged(String key, long permits, long maxDebt) {
        Shadow beside = shadow;
        if (beside != null && beside.policy.settles()) {
            run(Mono.defer(() -> beside.state.charge(key, null, permits, maxDebt)));
        }
    }

    Mono<Void> close(Mono<Void> live) {
        return shadow == null
                ? live
                : Mono.whenDelayError(live, shadow.state.close().onErrorComplete());
    }

    /** The same request of the shadow; decides now or later, once. */
    private Mono<Decision> request(Shadow shadow, String key, long permits) {
        if (permits > shadow.policy.capacity()) {
            recorder.counted(Event.SHADOW_DENIED, permits);
            return Mono.empty();
        }
        Mono<Decision> decided = Mono.defer(() -> shadow.state.evaluate(key, null, permits))
                .doOnNext(decision -> recorder.counted(
                        decision.allowed() ? Event.SHADOW_ALLOWED : Event.SHADOW_DENIED, decision.permits()))
                .cache();
        run(decided);
        return decided;
    }

    /**
     * If permits of the live decision come back, so do those here. A released lease is no refund: its rate
     * stays spent.
     */
    private void refundWith(Shadow shadow, Decision live, Mono<Decision> shadowed) {
        Debit debit = live.debitOrNull();
        if (debit != null && !debit.policy().needsRelease()) {
            debit.onRefund(permits -> refund(shadow, shadowed, permits));
        }
    }

    /** Gives back as many permits as the live request does: all, or what a reservation did not spend. */
    private void refund(Shadow shadow, Mono<Decision> shadowed, long permits) {
        run(shadowed.flatMap(decision -> {
            Debit debit = decision.debitOrNull();
            return debit != null && debit.claim()
                    ? shadow.state.refund(debit.part(Math.min(permits, debit.permits())))
                    : Mono.empty();
        }));
    }

    private void run(Mono<?> call) {
        call.subscribe(done -> {}, failure -> recorder.counted(Event.SHADOW_FAILED, 0));
    }
}
