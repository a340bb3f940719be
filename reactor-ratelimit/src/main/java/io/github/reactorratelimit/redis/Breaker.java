package io.github.reactorratelimit.redis;

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

    private final long pauseNanos;
    private volatile State state = FINE;

    Breaker(long pauseNanos) {
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

    /** Nanoseconds until the next probe may be sent. */
    long pauseLeft(long now) {
        return Math.max(1, state.until() - now);
    }

    void succeeded() {
        if (!state.equals(FINE)) {
            state = FINE;
        }
    }

    void failed(long now) {
        STATE.updateAndGet(this, seen -> {
            int failures = Math.min(seen.failures() + 1, FAILURES_IN_A_ROW);
            boolean opens = seen.kind() != Kind.CLOSED || failures >= FAILURES_IN_A_ROW;
            return opens ? new State(Kind.OPEN, failures, now + pauseNanos) : new State(Kind.CLOSED, failures, 0);
        });
    }
}
