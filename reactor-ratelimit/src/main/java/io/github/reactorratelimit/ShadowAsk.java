package io.github.reactorratelimit;

import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * One request as the shadow got it, whose permits go back if those of the live one do. The answer and the wish to give
 * back come in any order, on any thread: whoever comes second gives back.
 */
final class ShadowAsk {

    private static final Object GIVEN_BACK = new Object();

    private final LimiterState shadow;
    private final RateLimitRecorder recorder;

    /** The decision once it is there, {@link #GIVEN_BACK} once its permits shall not stay spent. */
    private final AtomicReference<@Nullable Object> state = new AtomicReference<>();

    /** Whether the live request was answered: who leaves afterwards has what was granted. */
    private volatile boolean delivered;

    ShadowAsk(LimiterState shadow, RateLimitRecorder recorder) {
        this.shadow = shadow;
        this.recorder = recorder;
    }

    /** The shadow's answer. */
    void answered(Decision decision) {
        if (!state.compareAndSet(null, decision)) {
            refund(decision);
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
            giveBack();
        }
    }

    void giveBack() {
        if (state.getAndSet(GIVEN_BACK) instanceof Decision decision) {
            refund(decision);
        }
    }

    private void refund(Decision decision) {
        decision.debit()
                .filter(Debit::claim)
                .ifPresent(debit -> shadow.refund(debit).subscribe(done -> {}, failure -> recorder.shadowFailed()));
    }
}
