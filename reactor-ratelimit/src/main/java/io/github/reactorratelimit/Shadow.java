package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimitRecorder.Event;
import java.time.Duration;
import reactor.core.publisher.Mono;

/**
 * A policy that only counts what it would have decided. It gets every request of the live policy, also the denied ones, and resets, pauses
 * and refunds: as if it were in effect alone. A request that may wait is a {@code tryAcquire} for it, made on arrival. Whatever happens
 * here, no live request is delayed, denied or failed.
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

    ShadowRequest request(String key, long permits) {
        ShadowRequest request = new ShadowRequest(state, recorder);
        if (permits > policy.capacity()) {
            recorder.counted(Event.SHADOW_DENIED, permits);
        } else {
            run(Mono.defer(() -> state.evaluate(key, null, permits)).doOnNext(request::answered));
        }
        return request;
    }

    /** A request that cannot be refunded: allocates nothing where the shadow can decide immediately. */
    void requestForGood(String key, long permits) {
        try {
            Verdict verdict = permits > policy.capacity() ? Verdict.UNKNOWN : state.decideNow(key, null, permits);
            if (verdict == Verdict.UNKNOWN) {
                request(key, permits);
            } else {
                recorder.counted(verdict == Verdict.TAKEN ? Event.SHADOW_ALLOWED : Event.SHADOW_DENIED, permits);
            }
        } catch (RuntimeException failure) {
            recorder.counted(Event.SHADOW_FAILED, 0);
        }
    }

    /** A released lease is no refund: what a rate granted stays spent when the work ends. */
    void refund(Debit debit) {
        ShadowRequest request = debit.shadow();
        if (request != null && !debit.policy().needsRelease()) {
            request.refund(debit.permits());
        }
    }

    void reset(String key) {
        run(Mono.defer(() -> state.reset(key, null)));
    }

    void pause(String key, Duration duration) {
        run(Mono.defer(() -> state.pause(key, null, duration)));
    }

    void pauseAtLeast(String key, Duration duration) {
        run(Mono.defer(() -> state.pauseAtLeast(key, null, duration)));
    }

    void charge(String key, long permits, long maxDebt) {
        if (policy.settles()) {
            run(Mono.defer(() -> state.charge(key, null, permits, maxDebt)));
        }
    }

    Mono<Void> close() {
        return state.close().onErrorComplete();
    }

    private void run(Mono<?> call) {
        call.subscribe(done -> {}, failure -> recorder.counted(Event.SHADOW_FAILED, 0));
    }
}
