package io.github.reactorratelimit.waiting;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.PermitsExceedCapacityException;
import io.github.reactorratelimit.RateLimitRecorder.WaitOutcome;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Projection;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The line of one key: first in, first out, bounded.
 *
 * <p>Everything that happens to a line (somebody joins or leaves, permits come back, the timer fires,
 * a pause, the end) is left in a mailbox, and whoever finds the line idle works it off: so the
 * waiters, the plan and the wake-up time have one owner at a time, without a lock. The owner runs no
 * subscriber's code; a grant is handed to the scheduler.
 *
 * <p>Only the head asks for permits. When the others will be served is not reserved anywhere but
 * follows from the state of the key, so nobody has to be moved when one of them leaves. The {@link
 * Projection} of the whole line is worked out only when a newcomer has a deadline or somebody asks
 * how long the wait would be, and kept as long as it is true.
 *
 * <p>A line that has become empty retires: it takes nobody any more, and the next one to join finds
 * or makes another.
 */
final class WaitLine {

    /** As {@link #missed}: the line takes nobody any more. Far enough below 0 that no joiner lifts it out. */
    private static final int RETIRED = Integer.MIN_VALUE;

    private final WaitLines lines;
    private final String key;
    private volatile Desk desk;

    private final Queue<Waiter> arrivals = new ConcurrentLinkedQueue<>();
    private final Queue<Waiter> leavers = new ConcurrentLinkedQueue<>();
    private volatile boolean planWanted;
    private volatile boolean replanWanted;
    private final AtomicInteger missed = new AtomicInteger();
    private final AtomicInteger length = new AtomicInteger();

    /** Where the line ends; null while it is not known. Written by the owner, read by all. */
    private volatile @Nullable Projection<?> tail;

    private final WaiterList waiters = new WaiterList();

    /** When the timer shall wake this line; written by the owner, read by the timer. */
    volatile long wakeAt = Algorithm.UNKNOWN;

    /** The timer's own: under which time it holds this line, {@link Algorithm#UNKNOWN} if it does not. */
    long heldAt = Algorithm.UNKNOWN;

    /** Tells lines apart that the timer holds under the same time. */
    final long id;

    WaitLine(WaitLines lines, long id, String key, Desk desk) {
        this.lines = lines;
        this.id = id;
        this.key = key;
        this.desk = desk;
    }

    String key() {
        return key;
    }

    /** How many wait, those in the mailbox included. */
    int length() {
        return length.get();
    }

    long now() {
        return desk.now();
    }

    /** False if the line has retired. */
    boolean join(Waiter waiter) {
        length.incrementAndGet();
        arrivals.offer(waiter);
        return poke();
    }

    void leave(Waiter waiter) {
        leavers.offer(waiter);
        poke();
    }

    void replan(Desk desk) {
        this.desk = desk;
        replanWanted = true;
        poke();
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

    /** Works off the mailbox unless somebody does already; false if the line has retired. */
    boolean poke() {
        int before = missed.getAndIncrement();
        if (before == 0) {
            workOff();
        }
        return before >= 0;
    }

    private void workOff() {
        int seen = 1;
        do {
            try {
                step();
            } catch (RuntimeException broken) {
                failAll(broken, WaitOutcome.CLOSED);
            }
            lines.timer().update(this);
            if (waiters.size() == 0 && arrivals.isEmpty() && missed.compareAndSet(seen, RETIRED)) {
                lines.remove(this);
                return;
            }
            seen = missed.addAndGet(-seen);
        } while (seen != 0);
    }

    private void step() {
        long now = desk.now();
        for (Waiter waiter = leavers.poll(); waiter != null; waiter = leavers.poll()) {
            if (waiter.linked) {
                tail = null;
                remove(waiter, false, WaitOutcome.CANCELLED);
            }
        }
        for (Waiter waiter = arrivals.poll(); waiter != null; waiter = arrivals.poll()) {
            admit(waiter, now);
        }
        if (lines.isClosed()) {
            failAll(lines.closedException(), WaitOutcome.CLOSED);
        }
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
        Waiter impatient = waiters.impatient();
        wakeAt = impatient == null ? turn : Math.min(turn, impatient.notAfter);
    }

    private void admit(Waiter waiter, long now) {
        waiters.add(waiter);
        if (!waiter.isWaiting()) {
            remove(waiter, false, WaitOutcome.CANCELLED);
            return;
        }
        long notBefore = Math.max(now, desk.pausedUntil());
        boolean full = isOverfull();
        Projection<?> end = waiter.hasDeadline() || full ? endOfLine(waiter, now) : tail;
        if (end == null) {
            return;
        }
        if (full) {
            deny(waiter, now, end.preview(notBefore, waiter.permits));
            tail = end;
        } else {
            tail = placed(waiter, end, now, notBefore);
        }
    }

    /** Longer than it may be: then the one who came last must go. */
    private boolean isOverfull() {
        return waiters.size() > lines.maxWaiters()
                || (desk.policy() instanceof LeakyBucket bucket && waiters.permits() > bucket.queueCapacity());
    }

    /** The plan with this waiter at its end; without it if it can never be served, or not in its time. */
    private Projection<?> placed(Waiter waiter, Projection<?> end, long now, long notBefore) {
        long capacity = desk.policy().capacity();
        if (waiter.permits > capacity) {
            boolean told = waiter.fail(new PermitsExceedCapacityException(waiter.permits, capacity));
            remove(waiter, told, WaitOutcome.DENIED);
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

    private void expire(long now) {
        Waiter impatient = waiters.impatient();
        while (impatient != null && impatient.notAfter <= now) {
            deny(impatient, now, Algorithm.UNKNOWN);
            impatient = waiters.impatient();
        }
    }

    /** Serves the head as long as it is its turn; the time of the next turn, if there is one. */
    private long grantHeads(long now) {
        long pausedUntil = desk.pausedUntil();
        for (Waiter head = waiters.first(); head != null; head = waiters.first()) {
            long from = Math.max(isSpacedBySlots() ? head.arrivedAt : now, pausedUntil);
            long wait = desk.waitNanos(from, head.permits);
            if (wait == Algorithm.UNKNOWN) {
                return wait;
            }
            long turn = from + wait;
            if (turn <= now) {
                grant(head, turn);
            } else if (turn > head.notAfter) {
                deny(head, now, turn);
            } else {
                return turn;
            }
        }
        return Algorithm.UNKNOWN;
    }

    /** A queueing bucket's slots stand still when the timer is late; all else is debited when it is served. */
    private boolean isSpacedBySlots() {
        return desk.policy() instanceof LeakyBucket bucket && !bucket.strict();
    }

    /** Somebody who asked before there was a line may have taken the permits just now: then the head stays. */
    private void grant(Waiter head, long turn) {
        Decision decision = desk.debit(turn, head.permits);
        if (!decision.allowed()) {
            return;
        }
        boolean told = head.answer(decision);
        remove(head, told, WaitOutcome.GRANTED);
        if (!told) {
            decision.debit().filter(Debit::claim).ifPresent(desk::undo);
        }
    }

    private void deny(Waiter waiter, long now, long grantedAt) {
        boolean told = waiter.answer(desk.deny(now, waiter.permits, grantedAt));
        remove(waiter, told, WaitOutcome.DENIED);
    }

    private void failAll(Throwable cause, WaitOutcome outcome) {
        for (Waiter waiter = waiters.first(); waiter != null; waiter = waiters.first()) {
            remove(waiter, waiter.fail(cause), outcome);
        }
        tail = null;
    }

    /** Takes a member out. One that was told departs when its subscriber's code has run, one that left departs now. */
    private void remove(Waiter waiter, boolean told, WaitOutcome outcome) {
        waiters.remove(waiter);
        length.decrementAndGet();
        lines.recorder().waitEnded(told ? outcome : WaitOutcome.CANCELLED, desk.now() - waiter.arrivedAt);
        if (!told) {
            lines.departed();
        }
    }
}
