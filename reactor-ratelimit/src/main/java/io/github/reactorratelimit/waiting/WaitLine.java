package io.github.reactorratelimit.waiting;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.PermitsExceedCapacityException;
import io.github.reactorratelimit.RateLimitRecorder.WaitOutcome;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Projection;
import org.jspecify.annotations.Nullable;

/**
 * A line in front of a state in this process.
 *
 * <p>Only the head asks for permits. When the others will be served is not reserved anywhere but
 * follows from the state of the key, so nobody has to be moved when one of them leaves. The {@link
 * Projection} of the whole line is worked out only when a newcomer has a deadline or somebody asks
 * how long the wait would be, and kept as long as it is true.
 */
final class WaitLine extends Line {

    private final WaitLines lines;
    private volatile Desk desk;
    private volatile boolean planWanted;
    private volatile boolean planOutdated;
    private volatile boolean replanWanted;

    /** Where the line ends; null while it is not known. Written by the owner, read by all. */
    private volatile @Nullable Projection<?> tail;

    /** The owner's: the slot of whoever was served last. */
    private long lastTurn = Long.MIN_VALUE;

    WaitLine(WaitLines lines, long id, String key, Desk desk) {
        super(lines, id, key);
        this.lines = lines;
        this.desk = desk;
    }

    @Override
    long now() {
        return desk.now();
    }

    void replan(Desk desk) {
        this.desk = desk;
        replan();
    }

    /** Everybody is timed anew. */
    void replan() {
        replanWanted = true;
        poke();
    }

    /** Permits came back: perhaps it is somebody's turn, and all turns come earlier. */
    void permitsCameBack() {
        planOutdated = true;
        poke();
    }

    @Override
    void prepare() {
        if (planOutdated) {
            planOutdated = false;
            tail = null;
        }
    }

    /** When permits would be had behind all who wait; too early a time if the line is being worked on. */
    long preview(long notBefore, long permits) {
        Projection<?> end = tail;
        if (end == null) {
            planWanted = true;
            poke();
            end = tail;
        }
        if (end != null) {
            return end.preview(notBefore, permits);
        }
        long wait = desk.waitNanos(notBefore, permits);
        return wait == Algorithm.UNKNOWN ? wait : notBefore + Math.max(wait, 1);
    }

    @Override
    void left() {
        tail = null;
    }

    @Override
    void admit(Waiter newcomer, long now) {
        if (isRefused(newcomer)) {
            return;
        }
        long notBefore = Math.max(now, desk.pausedUntil());
        boolean full = isOverfull();
        Projection<?> end = newcomer.hasDeadline() || full ? endOfLine(newcomer, now) : tail;
        if (end == null) {
            return;
        }
        if (full) {
            deny(newcomer, now, end.preview(notBefore, newcomer.permits));
            tail = end;
        } else {
            tail = placed(newcomer, end, now, notBefore);
        }
    }

    /** Longer than it may be: then the one who came last must go. */
    private boolean isOverfull() {
        return waiters.size() > lines.maxWaiters()
                || (desk.policy() instanceof LeakyBucket bucket && waiters.permits() > bucket.queueCapacity());
    }

    /** The plan with this waiter at its end; without it if it can never be served, or not in its time. */
    private Projection<?> placed(Waiter waiter, Projection<?> end, long now, long notBefore) {
        if (isRefused(waiter)) {
            return end;
        }
        long at = end.preview(notBefore, waiter.permits);
        if (at == Algorithm.UNKNOWN) {
            if (waiter.hasDeadline()) {
                waiters.watch(waiter);
            }
        } else if (at > waiter.notAfter) {
            deny(waiter, now, at);
            return end;
        }
        return end.place(notBefore, waiter.permits);
    }

    /** Fails one that can never be served: it asked before the policy changed. */
    private boolean isRefused(Waiter waiter) {
        long capacity = desk.policy().capacity();
        boolean refused = waiter.permits > capacity;
        if (refused) {
            fail(waiter, new PermitsExceedCapacityException(waiter.permits, capacity), WaitOutcome.DENIED);
        }
        return refused;
    }

    private void replanAll(long now) {
        long notBefore = Math.max(now, desk.pausedUntil());
        Projection<?> end = desk.projection(now);
        Waiter waiter = waiters.first();
        while (waiter != null) {
            Waiter following = waiter.next;
            end = placed(waiter, end, now, notBefore);
            waiter = following;
        }
        tail = end;
    }

    /** Where the line ends, or would without {@code newcomer}, who is its last and not in the plan yet. */
    private Projection<?> endOfLine(@Nullable Waiter newcomer, long now) {
        Projection<?> known = tail;
        if (known != null) {
            return known;
        }
        long pausedUntil = desk.pausedUntil();
        Projection<?> end = desk.projection(now);
        for (Waiter waiter = waiters.first(); waiter != null && waiter != newcomer; waiter = waiter.next) {
            end = end.place(Math.max(waiter.arrivedAt, pausedUntil), waiter.permits);
        }
        return end;
    }

    @Override
    long serve(long now) {
        if (replanWanted) {
            replanWanted = false;
            replanAll(now);
        }
        expire(now);
        long turn = grantHeads(now);
        if (waiters.size() == 0) {
            tail = null;
        } else if (planWanted) {
            tail = endOfLine(null, now);
        }
        planWanted = false;
        return turn;
    }

    /** Serves the head as long as it is its turn; the time of the next turn, if there is one. */
    private long grantHeads(long now) {
        long pausedUntil = desk.pausedUntil();
        for (Waiter head = waiters.first(); head != null; head = waiters.first()) {
            long from = Math.max(isSpacedBySlots() ? Math.max(head.arrivedAt, lastTurn) : now, pausedUntil);
            long wait = desk.waitNanos(from, head.permits);
            if (wait == Algorithm.UNKNOWN) {
                return wait;
            }
            long turn = from + wait;
            if (turn <= now) {
                if (!grant(head, turn)) {
                    long again = desk.waitNanos(now, head.permits);
                    return again == Algorithm.UNKNOWN ? again : now + Math.max(1, again);
                }
            } else if (turn > head.notAfter) {
                deny(head, now, turn);
            } else {
                head.slotAt = turn;
                return turn;
            }
        }
        return Algorithm.UNKNOWN;
    }

    /** A queueing bucket's slots stand still when the timer is late; all else is debited when it is served. */
    private boolean isSpacedBySlots() {
        return desk.policy() instanceof LeakyBucket bucket && !bucket.strict();
    }

    /** False if the head must stay: somebody who asked before there was a line has taken the permits just now. */
    private boolean grant(Waiter head, long turn) {
        Decision decision = desk.debit(turn, head.permits);
        if (!decision.allowed()) {
            return false;
        }
        lastTurn = turn;
        if (head.slotAt != Waiter.NO_SLOT || isSpacedBySlots()) {
            head.slotAt = head.slotAt == Waiter.NO_SLOT ? turn : Math.min(head.slotAt, turn);
        }
        if (!answer(head, decision)) {
            decision.debit().filter(Debit::claim).ifPresent(desk::undo);
            left();
        }
        return true;
    }

    @Override
    void deny(Waiter waiter, long now, long grantedAt) {
        answer(waiter, desk.deny(now, waiter.permits, grantedAt));
        left();
    }
}
