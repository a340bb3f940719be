package io.github.reactorratelimit.redis;

import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * Spares requests the deadline while a node of Redis is unavailable. After a few failures in a row no command
 * passes, but for one probe from time to time; an answer to it lets all commands pass again. One per limiter
 * and node.
 */
final class CircuitBreaker {

    static final int FAILURES_IN_A_ROW = 5;

    /**
     * How many commands failed in a row; after enough of them the breaker is open.
     *
     * @param untilNanos while it is open, no command passes before this time. The one that passes then is the
     *     probe, and no other passes before its reply is overdue
     */
    private record State(int failures, long untilNanos) {

        boolean isOpen() {
            return failures >= FAILURES_IN_A_ROW;
        }
    }

    private static final State FINE = new State(0, 0);

    private static final AtomicReferenceFieldUpdater<CircuitBreaker, State> STATE =
            AtomicReferenceFieldUpdater.newUpdater(CircuitBreaker.class, State.class, "state");

    private final String node;
    private final FailureLog log;
    private final long pauseNanos;
    private volatile State state = FINE;

    /** When Redis last answered after the deadline; null if it never did. */
    private volatile @Nullable Long lateNanos;

    /** What the last failure was; all commands of a call fail with the same error, which counts once. */
    private volatile @Nullable Throwable lastFailure;

    /** @param log says when the breaker opens and closes */
    CircuitBreaker(String node, FailureLog log, long pauseNanos) {
        this.node = node;
        this.log = log;
        this.pauseNanos = pauseNanos;
    }

    /**
     * Whether a command may be sent now. If the breaker is open, the command that it lets pass is the probe.
     */
    boolean mayCall(long nowNanos) {
        State seen = state;
        return !seen.isOpen()
                || (seen.untilNanos() - nowNanos <= 0
                        && STATE.compareAndSet(this, seen, new State(seen.failures(), nowNanos + pauseNanos)));
    }

    boolean isOpen() {
        return state.isOpen();
    }

    /** Redis answered after the deadline. */
    void answeredLate(long nowNanos) {
        lateNanos = nowNanos;
    }

    /** Whether commands without a waiting caller may be sent: Redis answers, in time or late. */
    boolean answers(long nowNanos) {
        Long late = lateNanos;
        return !isOpen() || (late != null && nowNanos - late < 2 * pauseNanos);
    }

    /**
     * Nanoseconds until the next probe; a whole pause if one may be sent now, because its reply has yet to
     * come.
     */
    long pauseLeft(long nowNanos) {
        State seen = state;
        long left = seen.untilNanos() - nowNanos;
        return !seen.isOpen() || left <= 0 ? pauseNanos : left;
    }

    /** Redis answered; an error reply is an answer too. */
    void answered() {
        if (!state.equals(FINE) && STATE.getAndSet(this, FINE).isOpen()) {
            ReplyExecutor.run(() -> log.availableAgain(node));
        }
    }

    /** Redis did not answer. */
    void failed(RedisUnavailableException error, long nowNanos) {
        if (lastFailure == error) {
            return;
        }
        lastFailure = error;
        State before = STATE.getAndUpdate(
                this, seen -> new State(Math.min(seen.failures() + 1, FAILURES_IN_A_ROW), nowNanos + pauseNanos));
        if (before.failures() == FAILURES_IN_A_ROW - 1) {
            ReplyExecutor.run(() -> log.unavailable(node, error));
        }
    }
}
