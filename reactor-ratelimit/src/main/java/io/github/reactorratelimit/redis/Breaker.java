package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.RateLimitException;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;

/**
 * Spares requests the deadline while Redis is away: after a few failures in a row nothing is sent, but
 * for one probe from time to time, whose success lets everything through again.
 */
final class Breaker {

    static final int FAILURES_IN_A_ROW = 5;

    private enum Kind {
        /** Everything passes. */
        CLOSED,
        /** Nothing passes before {@code until}. */
        OPEN,
        /** The probe is under way; nothing else passes, unless its answer is overdue at {@code until}. */
        PROBING
    }

    private record State(Kind kind, int failures, long until) {}

    private static final State FINE = new State(Kind.CLOSED, 0, 0);

    private static final AtomicReferenceFieldUpdater<Breaker, State> STATE =
            AtomicReferenceFieldUpdater.newUpdater(Breaker.class, State.class, "state");

    private final FailureLog log;
    private final long pauseNanos;
    private volatile State state = FINE;

    Breaker(FailureLog log, long pauseNanos) {
        this.log = log;
        this.pauseNanos = pauseNanos;
    }

    /** Whether a call may be sent now; whoever is let through while it is open is the probe. */
    boolean lets(long now) {
        State seen = state;
        if (seen.kind() == Kind.CLOSED) {
            return true;
        }
        return seen.until() - now <= 0
                && STATE.compareAndSet(this, seen, new State(Kind.PROBING, seen.failures(), now + pauseNanos));
    }

    boolean isOpen() {
        return state.kind() != Kind.CLOSED;
    }

    /** Nanoseconds until the next probe may be sent; a whole pause if one may be sent now, because its answer has yet to come. */
    long pauseLeft(long now) {
        State seen = state;
        long left = seen.until() - now;
        return seen.kind() == Kind.CLOSED || left <= 0 ? pauseNanos : left;
    }

    /** Redis answered. */
    void succeeded() {
        if (!state.equals(FINE) && STATE.getAndSet(this, FINE).kind() != Kind.CLOSED) {
            log.availableAgain();
        }
    }

    /** A call ended with an error. An error that Redis replied ends an outage too, since Redis answered. */
    void failed(Throwable error, long now) {
        if (error instanceof RedisUnavailableException unavailable) {
            unanswered(unavailable, now);
        } else if (error instanceof RateLimitException replied) {
            succeeded();
            log.failed(replied);
        } else if (error instanceof NewerEpochException) {
            succeeded();
        }
    }

    private void unanswered(RedisUnavailableException error, long now) {
        State before = STATE.getAndUpdate(this, seen -> {
            int failures = Math.min(seen.failures() + 1, FAILURES_IN_A_ROW);
            boolean opens = seen.kind() != Kind.CLOSED || failures >= FAILURES_IN_A_ROW;
            return opens ? new State(Kind.OPEN, failures, now + pauseNanos) : new State(Kind.CLOSED, failures, 0);
        });
        if (before.kind() == Kind.CLOSED && before.failures() + 1 >= FAILURES_IN_A_ROW) {
            log.unavailable(error);
        }
    }
}
