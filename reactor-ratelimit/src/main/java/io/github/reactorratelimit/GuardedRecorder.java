package io.github.reactorratelimit;

import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import reactor.util.Logger;
import reactor.util.Loggers;

/**
 * A user's recorders, whose exceptions fail no request: the first is logged.
 *
 * @param keys null if there is none
 * @param warned whether one was logged
 */
record GuardedRecorder(RateLimitRecorder actual, @Nullable KeyRecorder keys, AtomicBoolean warned)
        implements RateLimitRecorder {

    private static final Logger LOG = Loggers.getLogger(RateLimitRecorder.class);

    /** Whether nothing is recorded. */
    boolean isEmpty() {
        return actual == NOOP && keys == null;
    }

    /** What a store tells of waits and refunds, which no key recorder gets. */
    RateLimitRecorder forStore() {
        return actual == NOOP ? NOOP : this;
    }

    void decided(String key, boolean allowed, long permits) {
        decided(allowed, permits);
        if (keys != null) {
            guard(() -> keys.decided(key, allowed, permits));
        }
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
                LOG.warn("a recorder of a limiter failed; what it counts is wrong from here on", broken);
            }
        }
    }
}
