package io.github.reactorratelimit.queue;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Lets a stream behind a bucket reach its rate although timers and threads are late.
 *
 * <p>A waiter is debited at the time its permits came due, not when the timer fired: {@link LocalQueue} sees to that. A
 * stream that holds one element requests the next permits only after delivery of the last ones. Say they were due
 * at S and delivered at D. If the stream requests again at A and {@code A - D} is at most an interval, the delay is
 * the limiter's: delivered at S, it would have stood in the queue at S + interval. So it is debited at S +
 * interval, even if that has passed. Then it is late itself, by less, until the lateness is made up.
 *
 * <p><b>The bound holds.</b> The due time follows from the state of the key, and the store checks it like any other
 * time: the grants at their due times keep the policy's bound. No debit lies further back than {@link
 * #MOST_NANOS}, so what is emitted keeps the bound over that much more time. A longer stall is lost. A request
 * more than an interval after the last delivery starts afresh: idle time earns nothing.
 *
 * <p>Keys share a fixed number of cells and the last grant wins. A lost note only loses rate.
 */
final class LateGrants {

    /** A few times what a garbage collection or a busy machine takes away at once. */
    private static final long MOST_NANOS = 20_000_000;

    private static final int CELLS = 256;

    /**
     * A grant that was delivered late.
     *
     * @param intervalNanos how long its permits take to come back
     */
    private record Late(String key, long debitedAt, long deliveredAt, long intervalNanos) {}

    /** Null until the first late grant: a limiter without waiters pays one look at this field. */
    private volatile @Nullable AtomicReferenceArray<@Nullable Late> cells;

    /** How long the permits take to come back, under the fastest part; 0 if lateness is not made up under this policy. */
    private static long intervalNanos(ImmediateKey state, long permits) {
        if (!state.catchesUp()) {
            return 0;
        }
        return state.policy().parts().stream()
                .flatMap(part -> part.timeFor(permits).stream())
                .mapToLong(Duration::toNanos)
                .min()
                .orElse(0);
    }

    /**
     * When to debit permits that came due at {@code dueAt} and are granted now. As long as the bucket was not full
     * in between, now leaves the same state as the due time, and a refund gives more back. A full bucket gains nothing
     * any more: then the time at which it was full again, at most {@link #MOST_NANOS} ago.
     */
    static long debitTime(ImmediateKey state, long dueAt, long now) {
        if (dueAt >= now) {
            return now;
        }
        long untilFull = state.waitNanos(dueAt, state.policy().capacity());
        return untilFull >= now - dueAt ? now : Math.max(dueAt + untilFull, now - MOST_NANOS);
    }

    /** Permits that were debited at {@code debitedAt} are delivered now. */
    void delivered(ImmediateKey state, long debitedAt, long permits, long now) {
        long interval = now > debitedAt ? intervalNanos(state, permits) : 0;
        if (interval == 0) {
            return;
        }
        AtomicReferenceArray<@Nullable Late> notes = cells;
        if (notes == null) {
            // If two threads come first, one note is lost.
            notes = new AtomicReferenceArray<>(CELLS);
            cells = notes;
        }
        String key = state.key();
        int cell = cell(key);
        Late before = notes.get(cell);
        if (before == null || before.debitedAt <= debitedAt || !before.key.equals(key)) {
            notes.set(cell, new Late(key, debitedAt, now, interval));
        }
    }

    /** Drops the note of the key, and of those that share its cell. */
    void forget(String key) {
        AtomicReferenceArray<@Nullable Late> notes = cells;
        if (notes != null) {
            notes.set(cell(key), null);
        }
    }

    /** Whether the last grant of the key was late, and delivered at most an interval ago. */
    boolean mayBeMadeUp(String key, long now) {
        return recent(key, now) != null;
    }

    private @Nullable Late recent(String key, long now) {
        AtomicReferenceArray<@Nullable Late> notes = cells;
        Late late = notes == null ? null : notes.get(cell(key));
        return late == null || now - late.deliveredAt > late.intervalNanos || !late.key.equals(key) ? null : late;
    }

    /** When to debit permits that are requested now: in the past if lateness is to be made up, else now. */
    long debitTimeOfRequest(ImmediateKey state, long now) {
        Late late = recent(state.key(), now);
        return late == null || !state.catchesUp()
                ? now
                : Math.min(now, Math.max(debitTime(state, late.debitedAt, now), state.pausedUntil()));
    }

    private static int cell(String key) {
        int hash = key.hashCode();
        return (hash ^ hash >>> 16) & CELLS - 1;
    }
}
