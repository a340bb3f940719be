package io.github.reactorratelimit.webflux.testing;

import io.github.reactorratelimit.RateLimitRecorder;
import java.util.concurrent.atomic.AtomicLong;

/** Counts what a limiter tells. */
public final class Counting implements RateLimitRecorder {

    public final AtomicLong allowed = new AtomicLong();
    public final AtomicLong denied = new AtomicLong();
    public final AtomicLong waiting = new AtomicLong();
    public final AtomicLong cancelled = new AtomicLong();
    public final AtomicLong refunded = new AtomicLong();

    @Override
    public void decided(boolean isAllowed, long permits) {
        (isAllowed ? allowed : denied).addAndGet(permits);
    }

    @Override
    public void queueChanged(int change) {
        waiting.addAndGet(change);
    }

    @Override
    public void waited(WaitOutcome outcome, long waitedNanos) {
        if (outcome == WaitOutcome.CANCELLED) {
            cancelled.incrementAndGet();
        }
    }

    @Override
    public void counted(Event event, long permits) {
        if (event == Event.REFUNDED) {
            refunded.addAndGet(permits);
        }
    }
}
