package io.github.reactorratelimit;

import java.util.concurrent.atomic.AtomicBoolean;
import reactor.util.Logger;
import reactor.util.Loggers;

/** A user's recorder whose failures harm nobody: the first is logged, and no request sees any. */
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
    public void waitStarted() {
        guard(actual::waitStarted);
    }

    @Override
    public void waitEnded(WaitOutcome outcome, long waitedNanos) {
        guard(() -> actual.waitEnded(outcome, waitedNanos));
    }

    @Override
    public void refunded(long permits) {
        guard(() -> actual.refunded(permits));
    }

    @Override
    public void refundLost(long permits) {
        guard(() -> actual.refundLost(permits));
    }

    @Override
    public void leaseLost(long permits) {
        guard(() -> actual.leaseLost(permits));
    }

    @Override
    public void chargeLost(long permits) {
        guard(() -> actual.chargeLost(permits));
    }

    @Override
    public void reserved(long permits) {
        guard(() -> actual.reserved(permits));
    }

    @Override
    public void settled(long reserved, long spent) {
        guard(() -> actual.settled(reserved, spent));
    }

    @Override
    public void uncharged(long permits) {
        guard(() -> actual.uncharged(permits));
    }

    @Override
    public void degraded(Degradation degradation) {
        guard(() -> actual.degraded(degradation));
    }

    @Override
    public void shadowDecided(boolean allowed, long permits) {
        guard(() -> actual.shadowDecided(allowed, permits));
    }

    @Override
    public void shadowFailed() {
        guard(actual::shadowFailed);
    }

    @Override
    public void toldLate(long lateNanos) {
        guard(() -> actual.toldLate(lateNanos));
    }

    @Override
    public void clockRead(long aheadNanos, long errorNanos) {
        guard(() -> actual.clockRead(aheadNanos, errorNanos));
    }

    @Override
    public void leaseStranded(Stranding how, long permits) {
        guard(() -> actual.leaseStranded(how, permits));
    }

    @Override
    public void grantAudited(long permits, long excess) {
        guard(() -> actual.grantAudited(permits, excess));
    }

    @Override
    public void denialAudited(long permits, boolean wrong) {
        guard(() -> actual.denialAudited(permits, wrong));
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
