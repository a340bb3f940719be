package io.github.reactorratelimit;

import java.util.concurrent.atomic.AtomicBoolean;
import reactor.util.Logger;
import reactor.util.Loggers;

/** A user's recorder whose exceptions fail no request: the first is logged. */
final class GuardedRecorder implements RateLimitRecorder {

    private static final Logger LOG = Loggers.getLogger(RateLimitRecorder.class);

    private final RateLimitRecorder actual;
    private final AtomicBoolean warned = new AtomicBoolean();

    private GuardedRecorder(RateLimitRecorder actual) {
        this.actual = actual;
    }

    static RateLimitRecorder of(RateLimitRecorder actual) {
        return actual == NOOP ? NOOP : new GuardedRecorder(actual);
    }

    @Override
    public void decided(boolean allowed, long permits) {
        guard(() -> actual.decided(allowed, permits));
    }

    @Override
    public void queueChanged(int change) {
        guard(() -> actual.queueChanged(change));
    }

    @Override
    public void waited(WaitOutcome outcome, long waitedNanos) {
        guard(() -> actual.waited(outcome, waitedNanos));
    }

    @Override
    public void deliveredLate(long lateNanos) {
        guard(() -> actual.deliveredLate(lateNanos));
    }

    @Override
    public void counted(Event event, long permits) {
        guard(() -> actual.counted(event, permits));
    }

    @Override
    public void clockRead(long aheadNanos, long errorNanos) {
        guard(() -> actual.clockRead(aheadNanos, errorNanos));
    }

    private void guard(Runnable call) {
        try {
            call.run();
        } catch (RuntimeException broken) {
            if (warned.compareAndSet(false, true)) {
                LOG.warn("a rate limit recorder failed; what it counts is wrong from here on", broken);
            }
        }
    }
}
