package io.github.reactorratelimit.redis;

import java.util.concurrent.atomic.AtomicLongFieldUpdater;

/**
 * Permits that were debited together, and what is left of them. Any thread takes with one CAS; whoever closes
 * it owns the rest.
 */
final class Batch {

    private static final AtomicLongFieldUpdater<Batch> LEFT = AtomicLongFieldUpdater.newUpdater(Batch.class, "left");

    /** As {@link #left}: nothing is taken or put back any more. */
    private static final long CLOSED = -1;

    private final long permits;
    private final long atMicros;
    private final long sentNanos;
    private volatile long left;

    /**
     * @param permits how many, at least one
     * @param atMicros the server's time of the debit
     * @param sentNanos the time here before the call was sent: earlier than the debit
     */
    Batch(long permits, long atMicros, long sentNanos) {
        this.permits = permits;
        this.atMicros = atMicros;
        this.sentNanos = sentNanos;
        this.left = permits;
    }

    long permits() {
        return permits;
    }

    long atMicros() {
        return atMicros;
    }

    long left() {
        return Math.max(0, left);
    }

    /** Whether its permits may be spent no more. */
    boolean isOver(long nowNanos, long leaseNanos) {
        return nowNanos - sentNanos >= leaseNanos;
    }

    /** Takes all of the permits or none. */
    boolean take(long wanted) {
        for (; ; ) {
            long seen = left;
            if (seen < wanted) {
                return false;
            }
            if (LEFT.compareAndSet(this, seen, seen - wanted)) {
                return true;
            }
        }
    }

    /** Takes as many as there are. */
    long takeUpTo(long wanted) {
        for (; ; ) {
            long seen = left;
            long taken = Math.min(seen, wanted);
            if (taken <= 0) {
                return 0;
            }
            if (LEFT.compareAndSet(this, seen, seen - taken)) {
                return taken;
            }
        }
    }

    /** Undoes a take; false if it was closed meanwhile, and the permits stay the caller's. */
    boolean putBack(long taken) {
        for (; ; ) {
            long seen = left;
            if (seen == CLOSED) {
                return false;
            }
            if (LEFT.compareAndSet(this, seen, seen + taken)) {
                return true;
            }
        }
    }

    /** What was left, which is the caller's now. */
    long close() {
        return Math.max(0, LEFT.getAndSet(this, CLOSED));
    }
}
