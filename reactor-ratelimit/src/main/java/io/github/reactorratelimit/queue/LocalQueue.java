package io.github.reactorratelimit.queue;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.PermitsExceedCapacityException;
import io.github.reactorratelimit.RateLimitRecorder.WaitOutcome;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Projection;
import org.jspecify.annotations.Nullable;

/**
 * A queue in front of a state in this process.
 *
 * <p>Only the head requests permits. When the others will be granted is not reserved anywhere but follows from the state of
 * the key, so no waiter has to be moved when another leaves. Where the queue ends is computed only for a newcomer with a
 * deadline, or when a caller wants to know how long the wait would be, and kept as long as it is true.
 */
final class LocalQueue extends KeyQueue<ImmediateKey> {

    /** Where the queue ends; null while it is not known. Written by the drain loop, read by all, as is the field below. */
    private volatile @Nullable Projection<?> tail;

    /** Whether a waiter left since: then the tail is too late, and no waiter is granted later. */
    private volatile boolean isTailLate;

    /** The fields below belong to the drain loop. No waiter is due earlier: the due time of the last grant, or the reset of the key. */
    private long lastDueAt = Long.MIN_VALUE;

    /** When permits last came back. What they make possible was not due before. */
    private long refundedAt = Long.MIN_VALUE;

    LocalQueue(QueueRuntime runtime, ImmediateKey key) {
        super(runtime, key);
    }

    /** The key's pause, state or policy changed: waiters are rescheduled by {@code changed}. */
    void reschedule(ImmediateKey changed) {
        post(now -> {
            key = changed;
            rescheduleAll(now);
        });
    }

    /** The policy may have changed. */
    void reschedule() {
        post(this::rescheduleAll);
    }

    /** The key starts afresh: no permits came due before now. */
    void reset(ImmediateKey fresh) {
        post(now -> {
            key = fresh;
            lastDueAt = now;
            rescheduleAll(now);
        });
    }

    /** A waiter may be due, and all of them are granted earlier. */
    void permitsCameBack() {
        post(now -> {
            refundedAt = now;
            isTailLate = true;
        });
    }

    /** Where the queue ends; null while the drain loop is at work and has not found it yet. */
    @Nullable
    Projection<?> end() {
        if (tail == null || isTailLate) {
            post(now -> exactTail(null, now));
        }
        return isTailLate ? null : tail;
    }

    /** Those behind a waiter that leaves without a grant move up. */
    @Override
    protected void left(Waiter<ImmediateKey> waiter, boolean granted) {
        if (!granted) {
            isTailLate = true;
        }
    }

    @Override
    protected void admit(Waiter<ImmediateKey> newcomer, long now) {
        if (isRefused(newcomer)) {
            return;
        }
        if (key.policy().needsRelease()) {
            // No time is known for it: another request may still take what is free now.
            watch(newcomer);
        }
        long notBefore = Math.max(now, key.pausedUntil());
        if (isOverfull() || permits() > key.policy().queueCapacity()) {
            turnAway(newcomer, now, exactTail(newcomer, now).preview(notBefore, newcomer.permits()));
            return;
        }
        Projection<?> end = tail;
        if (newcomer.hasDeadline() && (end == null || (isTailLate && !isInTime(newcomer, end, notBefore)))) {
            end = exactTail(newcomer, now);
        }
        if (end != null) {
            tail = placed(newcomer, end, now, notBefore);
        }
    }

    private static boolean isInTime(Waiter<ImmediateKey> newcomer, Projection<?> end, long notBefore) {
        return end.preview(notBefore, newcomer.permits()) <= newcomer.notAfter();
    }

    /** The end with this waiter; without it if it can never be granted, or not in time. */
    private Projection<?> placed(Waiter<ImmediateKey> waiter, Projection<?> end, long now, long notBefore) {
        if (isRefused(waiter)) {
            return end;
        }
        long at = end.preview(notBefore, waiter.permits());
        if (at == Algorithm.UNKNOWN) {
            watch(waiter);
        } else if (at > waiter.notAfter()) {
            turnAway(waiter, now, at);
            return end;
        }
        return end.place(notBefore, waiter.permits());
    }

    /** Denies a waiter that is not in the tail. */
    private void turnAway(Waiter<ImmediateKey> waiter, long now, long grantedAt) {
        boolean isLate = isTailLate;
        deny(waiter, now, grantedAt);
        isTailLate = isLate;
    }

    /** Fails a waiter that can never be granted: it came before the policy changed. */
    private boolean isRefused(Waiter<ImmediateKey> waiter) {
        long capacity = key.policy().capacity();
        boolean refused = waiter.permits() > capacity;
        if (refused) {
            answer(waiter, new PermitsExceedCapacityException(waiter.permits(), capacity), WaitOutcome.DENIED);
        }
        return refused;
    }

    private void rescheduleAll(long now) {
        long notBefore = Math.max(now, key.pausedUntil());
        Projection<?> end = key.projection(now);
        for (Waiter<ImmediateKey> waiter : waiters()) {
            end = placed(waiter, end, now, notBefore);
        }
        tail = end;
        isTailLate = false;
    }

    /** Where the queue ends without {@code newcomer}, which is its last waiter and not placed yet. */
    private Projection<?> exactTail(@Nullable Waiter<ImmediateKey> newcomer, long now) {
        Projection<?> end = tail;
        if (end == null || isTailLate) {
            end = walk(newcomer, now);
            tail = end;
            isTailLate = false;
        }
        return end;
    }

    /** Places all waiters, at once if the policy allows that, else one after the other. */
    private Projection<?> walk(@Nullable Waiter<ImmediateKey> newcomer, long now) {
        long pausedUntil = key.pausedUntil();
        Projection<?> end = key.projection(now);
        Waiter<ImmediateKey> head = first();
        if (head == null || head == newcomer) {
            return end;
        }
        end = end.place(Math.max(head.arrivedAt, pausedUntil), head.permits());
        long behind = permits() - head.permits() - (newcomer == null ? 0 : newcomer.permits());
        Projection<?> all = end.placeAll(Math.max(now, pausedUntil), behind, mostPermits());
        if (all != null) {
            return all;
        }
        for (Waiter<ImmediateKey> waiter = head.next; waiter != null && waiter != newcomer; waiter = waiter.next) {
            end = end.place(Math.max(waiter.arrivedAt, pausedUntil), waiter.permits());
        }
        return end;
    }

    @Override
    protected long serve(long now) {
        long dueAt = grantHeads(now);
        if (size() == 0) {
            tail = null;
        }
        return dueAt;
    }

    /** Grants the heads that are due; the time at which the next is, {@link Algorithm#UNKNOWN} if that is not known. */
    private long grantHeads(long now) {
        ImmediateKey key = this.key;
        long pausedUntil = key.pausedUntil();
        boolean madeUp = key.catchesUp();
        for (Waiter<ImmediateKey> head = first(); head != null; head = first()) {
            long from = Math.max(madeUp ? Math.max(head.arrivedAt, lastDueAt) : now, pausedUntil);
            long wait = key.waitNanos(from, head.permits());
            if (wait == Algorithm.UNKNOWN) {
                return wait;
            }
            long dueAt = from + wait;
            if (dueAt <= now) {
                if (!grant(head, key, dueAt, now, madeUp)) {
                    long again = key.waitNanos(now, head.permits());
                    return again == Algorithm.UNKNOWN ? again : now + Math.max(1, again);
                }
            } else if (dueAt > head.notAfter()) {
                deny(head, now, dueAt);
            } else {
                head.dueAt = dueAt;
                return dueAt;
            }
        }
        return Algorithm.UNKNOWN;
    }

    /** False if the head must stay: a request that came before the queue has debited the permits just now. */
    private boolean grant(Waiter<ImmediateKey> head, ImmediateKey key, long dueAt, long now, boolean madeUp) {
        Decision decision = key.debit(LateGrants.debitTime(key, dueAt, now), head.permits());
        if (!decision.allowed()) {
            return false;
        }
        lastDueAt = dueAt;
        if (head.dueAt != Waiter.NOT_DUE || madeUp) {
            long possibleAt = Math.max(dueAt, refundedAt);
            head.dueAt = head.dueAt == Waiter.NOT_DUE ? possibleAt : Math.min(head.dueAt, possibleAt);
        }
        if (!answer(head, decision)) {
            decision.debit().filter(Debit::claim).ifPresent(key::undo);
        }
        return true;
    }

    @Override
    protected void deny(Waiter<ImmediateKey> waiter, long now, long grantedAt) {
        answer(waiter, key.deny(now, waiter.permits(), grantedAt));
    }
}
