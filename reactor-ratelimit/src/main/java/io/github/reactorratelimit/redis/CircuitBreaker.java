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

    private enum Kind {
        /** All commands pass. */
        CLOSED,
        /** No command passes before {@code untilNanos}. */
        OPEN,
        /** The probe is in flight; no other command passes unless its reply is overdue at {@code untilNanos}. */
        PROBING
    }

    private record State(Kind kind, int failures, long untilNanos) {}

    private static final State FINE = new State(Kind.CLOSED, 0, 0);

    private static final AtomicReferenceFieldUpdater<CircuitBreaker, State> STATE =
            AtomicReferenceFieldUpdater.newUpdater(CircuitBreaker.class, State.class, "state");

    private final String node;
    private final LimiterCommands.Listener listener;
    private final long pauseNanos;
    private volatile State state = FINE;

    /** What the last failure was; all commands of a call fail with the same error, which counts once. */
    private volatile @Nullable Throwable lastFailure;

    /** @param listener hears when the breaker opens and closes */
    CircuitBreaker(String node, LimiterCommands.Listener listener, long pauseNanos) {
        this.node = node;
        this.listener = listener;
        this.pauseNanos = pauseNanos;
    }

    /**
     * Whether a command may be sent now. If the breaker is open, the command that it lets pass is the probe.
     */
    boolean mayCall(long nowNanos) {
        State seen = state;
        if (seen.kind() == Kind.CLOSED) {
            return true;
        }
        return seen.untilNanos() - nowNanos <= 0
                && STATE.compareAndSet(this, seen, new State(Kind.PROBING, seen.failures(), nowNanos + pauseNanos));
    }

    boolean isOpen() {
        return state.kind() != Kind.CLOSED;
    }

    /**
     * Nanoseconds until the next probe; a whole pause if one may be sent now, because its reply has yet to
     * come.
     */
    long pauseLeft(long nowNanos) {
        State seen = state;
        long left = seen.untilNanos() - nowNanos;
        return seen.kind() == Kind.CLOSED || left <= 0 ? pauseNanos : left;
    }

    /** Redis answered; an error reply is an answer too. */
    void answered() {
        if (!state.equals(FINE) && STATE.getAndSet(this, FINE).kind() != Kind.CLOSED) {
            listener.availableAgain(node);
        }
    }

    /** Redis did not answer. */
    void failed(RedisUnavailableException error, long nowNanos) {
        if (lastFailure == error) {
            return;
        }
        lastFailure = error;
        State before = STATE.getAndUpdate(this, seen -> {
            int failures = Math.min(seen.failures() + 1, FAILURES_IN_A_ROW);
            boolean opens = seen.kind() != Kind.CLOSED || failures >= FAILURES_IN_A_ROW;
            return opens ? new State(Kind.OPEN, failures, nowNanos + pauseNanos) : new State(Kind.CLOSED, failures, 0);
        });
        if (before.kind() == Kind.CLOSED && before.failures() + 1 >= FAILURES_IN_A_ROW) {
            listener.unavailable(node, error);
        }
    }
}
