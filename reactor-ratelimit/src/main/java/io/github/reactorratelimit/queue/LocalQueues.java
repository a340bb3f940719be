package io.github.reactorratelimit.queue;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Projection;
import org.jspecify.annotations.Nullable;

/**
 * The queues of one limiter whose state is in this process. A request that can be answered when it is made is answered
 * on its own thread and joins no queue. A request that may not wait is always answered so.
 */
public final class LocalQueues extends KeyQueues<ImmediateKey, LocalQueue> {

    private final LateGrants lateGrants = new LateGrants();

    public LocalQueues(LimiterSettings settings) {
        super(settings, LocalQueue::new);
    }

    /** Debits a request at its due time if the last grant of the key was late; null if not, and nothing is debited. */
    public @Nullable Decision debitWhenDue(ImmediateKey state, long now, long permits) {
        long at = lateGrants.debitTimeOfRequest(state, now);
        if (at == now) {
            return null;
        }
        Decision decision = state.debit(at, permits);
        if (!decision.allowed()) {
            return null;
        }
        lateGrants.delivered(state, at, permits, now);
        return decision;
    }

    /** False if {@link #debitWhenDue} would return null; costs next to nothing. */
    public boolean mayBeMadeUp(String key, long now) {
        return lateGrants.mayBeMadeUp(key, now);
    }

    /**
     * When permits would be granted behind all waiters, {@link Algorithm#UNKNOWN} if that is not known; too early a time while the
     * drain loop of their queue is at work.
     */
    public long grantedAt(ImmediateKey state, long now, long permits) {
        long notBefore = Math.max(now, state.pausedUntil());
        LocalQueue queue = queue(state.key());
        Projection<?> end = queue == null ? null : queue.end();
        if (end != null) {
            return end.preview(notBefore, permits);
        }
        long wait = state.waitNanos(notBefore, permits);
        return wait == Algorithm.UNKNOWN ? wait : notBefore + wait;
    }

    /** Permits of the key came back: a waiter may be due. */
    public void permitsCameBack(String key) {
        ifWaiting(key, LocalQueue::permitsCameBack);
    }

    /** The key's pause, state or policy changed: its waiters are rescheduled by {@code state}. */
    public void replan(ImmediateKey state) {
        ifWaiting(state.key(), queue -> queue.reschedule(state));
    }

    /** The key starts afresh: no lateness from before is made up. */
    public void reset(ImmediateKey state) {
        lateGrants.forget(state.key());
        ifWaiting(state.key(), queue -> queue.reset(state));
    }

    /** The policy of any key may have changed: all waiters are rescheduled. */
    public void replanAll() {
        forEachQueue(LocalQueue::reschedule);
    }

    @Override
    @Nullable
    Decision answerAtOnce(Waiter<ImmediateKey> request) {
        ImmediateKey state = request.request();
        long now = request.arrivedAt;
        boolean mayWait = request.notAfter() > now;
        if (now >= state.pausedUntil() && !hasWaiters(state.key())) {
            Decision late = debitWhenDue(state, now, request.permits());
            Decision decision = late == null ? state.debit(now, request.permits()) : late;
            if (decision.allowed() || !mayWait) {
                return decision;
            }
        }
        if (!request.hasDeadline()) {
            return null;
        }
        long grantedAt = grantedAt(state, now, request.permits());
        boolean isTooLong = !mayWait || (grantedAt != Algorithm.UNKNOWN && grantedAt > request.notAfter());
        return isTooLong ? state.deny(now, request.permits(), grantedAt) : null;
    }

    /** The next waiter's grant replaces the note of this one, so it is left out while there is one. */
    @Override
    void delivering(Waiter<ImmediateKey> waiter, Debit debit) {
        super.delivering(waiter, debit);
        ImmediateKey state = waiter.request();
        if (!hasWaiters(state.key())) {
            lateGrants.delivered(state, debit.atTick(), debit.permits(), state.now());
        }
    }
}
