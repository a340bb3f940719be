package io.github.reactorratelimit;

import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * One request as the shadow got it, whose permits go back if those of the live one do. The answer and the wish to give
 * back come in any order, on any thread: whoever comes second gives back.
 */
final class ShadowAsk {

    /** So many permits shall not stay spent. */
    private record GivenBack(long permits) {}

    private final LimiterState shadow;
    private final RateLimitRecorder recorder;

    /** The decision once it is there, {@link GivenBack} once its permits, or some, shall not stay spent. */
    private final AtomicReference<@Nullable Object> state = new AtomicReference<>();

    /** Whether the live request was answered: who leaves afterwards has what was granted. */
    private volatile boolean delivered;

    ShadowAsk(LimiterState shadow, RateLimitRecorder recorder) {
        this.shadow = shadow;
        this.recorder = recorder;
    }

    /** The shadow's answer. */
    void answered(Decision decision) {
        if (state.getAndUpdate(seen -> seen == null ? decision : seen) instanceof GivenBack back) {
            refund(decision, back.permits);
        }
        recorder.shadowDecided(decision.allowed(), decision.permits());
    }

    /** The live answer: if its permits come back, so do these. */
    void follow(Decision live) {
        delivered = true;
        live.debit().ifPresent(debit -> debit.shadow(this));
    }

    /** The caller left: before it was answered, its live permits go back by themselves. */
    void leave() {
        if (!delivered) {
            giveBack(Long.MAX_VALUE);
        }
    }

    /** As many as the live request gives back, which is all of them, or what was not spent of a reservation. */
    void giveBack(long permits) {
        if (state.getAndSet(new GivenBack(permits)) instanceof Decision decision) {
            refund(decision, permits);
        }
    }

    private void refund(Decision decision, long permits) {
        decision.debit()
                .filter(Debit::claim)
                .ifPresent(debit -> shadow.refund(debit.part(Math.min(permits, debit.permits())))
                        .subscribe(done -> {}, failure -> recorder.shadowFailed()));
    }
}
