package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimitRecorder.Event;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * One request at the shadow. Its permits come back if those of the live request do. The shadow's decision and the refund arrive in any
 * order, on any thread: the second of them refunds.
 */
final class ShadowRequest {

    /** The live request gave back this many permits. */
    private record Refunded(long permits) {}

    private final LimiterState shadow;
    private final RateLimitRecorder recorder;

    /** The shadow's decision, or {@link Refunded}; null at first. */
    private final AtomicReference<@Nullable Object> state = new AtomicReference<>();

    /** Whether the live request was decided: a subscriber that cancels afterwards keeps its permits. */
    private volatile boolean decided;

    ShadowRequest(LimiterState shadow, RateLimitRecorder recorder) {
        this.shadow = shadow;
        this.recorder = recorder;
    }

    /** The shadow decided. */
    void answered(Decision decision) {
        if (state.getAndUpdate(seen -> seen == null ? decision : seen) instanceof Refunded refunded) {
            refund(decision, refunded.permits);
        }
        recorder.counted(decision.allowed() ? Event.SHADOW_ALLOWED : Event.SHADOW_DENIED, decision.permits());
    }

    /** The live request was decided: if its permits come back later, so do these. */
    void follow(Decision live) {
        decided = true;
        live.debit().ifPresent(debit -> debit.shadow(this));
    }

    /** The subscriber cancelled. Before the live decision, the live permits come back without a refund. */
    void cancel() {
        if (!decided) {
            refund(Long.MAX_VALUE);
        }
    }

    /** Gives back as many permits as the live request does: all, or what a reservation did not spend. */
    void refund(long permits) {
        if (state.getAndSet(new Refunded(permits)) instanceof Decision decision) {
            refund(decision, permits);
        }
    }

    private void refund(Decision decision, long permits) {
        decision.debit()
                .filter(Debit::claim)
                .ifPresent(debit -> shadow.refund(debit.part(Math.min(permits, debit.permits())))
                        .subscribe(done -> {}, failure -> recorder.counted(Event.SHADOW_FAILED, 0)));
    }
}
