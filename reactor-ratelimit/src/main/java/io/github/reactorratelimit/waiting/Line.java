package io.github.reactorratelimit.waiting;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitRecorder.WaitOutcome;
import io.github.reactorratelimit.algorithm.Algorithm;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The line of one key: first in, first out. Everything that happens to it (somebody joins or leaves,
 * permits come back, the timer fires, the end) is left in its mailbox. Its owner runs no subscriber's
 * code; an answer is handed to the scheduler.
 *
 * <p>A line that has become empty retires: it takes nobody any more, and the next one to join finds
 * or makes another.
 */
abstract class Line extends SerialWorker {

    private final WaitingRoom<?> room;
    private final String key;
    private final Queue<Waiter> arrivals = new ConcurrentLinkedQueue<>();
    private final Queue<Waiter> leavers = new ConcurrentLinkedQueue<>();
    private final Queue<Runnable> afterwards = new ConcurrentLinkedQueue<>();
    private final AtomicInteger length = new AtomicInteger();

    /** The owner's. */
    final WaiterList waiters = new WaiterList();

    private volatile @Nullable Throwable breakdown;

    /** Tells lines apart that the timer holds under the same time. */
    final long id;

    /** When the timer shall wake this line; written by the owner, read by the timer. */
    volatile long wakeAt = Algorithm.UNKNOWN;

    /** The timer's own: under which time it holds this line, {@link Algorithm#UNKNOWN} if it does not. */
    long heldAt = Algorithm.UNKNOWN;

    Line(WaitingRoom<?> room, long id, String key) {
        this.room = room;
        this.id = id;
        this.key = key;
    }

    final String key() {
        return key;
    }

    /** How many wait, those in the mailbox included. */
    final int length() {
        return length.get();
    }

    abstract long now();

    /** Before anybody is looked at. */
    void prepare() {}

    /** Takes a newcomer, who is the last of {@link #waiters} already, or sends it away. */
    abstract void admit(Waiter newcomer, long now);

    /** Somebody is no longer one of {@link #waiters}. */
    abstract void left();

    /** One who was {@linkplain #admit admitted} is none of {@link #waiters} any more, for whatever reason. */
    void unlinked(Waiter waiter) {}

    /** Answers whoever can be answered; the time at which to look again, if there is one. */
    abstract long serve(long now);

    @Override
    protected final void retired() {
        room.remove(this);
    }

    /** False if the line has retired without seeing this waiter: its last owner may have been quicker than the poke. */
    final boolean join(Waiter waiter) {
        length.incrementAndGet();
        arrivals.offer(waiter);
        return poke() || !arrivals.remove(waiter);
    }

    /** Fails everyone who waits here, and nobody who comes later. */
    final void breakDown(Throwable cause) {
        breakdown = cause;
        poke();
    }

    final void leave(Waiter waiter) {
        leavers.offer(waiter);
        poke();
    }

    /** Runs the task once everything that was left in the mailbox before was dealt with. */
    final void afterwards(Runnable task) {
        afterwards.offer(task);
        if (!poke() && afterwards.remove(task)) {
            task.run();
        }
    }

    @Override
    protected final boolean isDone() {
        return waiters.size() == 0 && arrivals.isEmpty() && afterwards.isEmpty() && !isBusy();
    }

    /** Whether the line waits for something although nobody stands in it. */
    boolean isBusy() {
        return false;
    }

    @Override
    protected final void work() {
        List<Runnable> following = following();
        try {
            step();
        } catch (Throwable broken) {
            failAll(broken);
        }
        room.timer().update(this);
        following.forEach(Runnable::run);
    }

    /** The tasks that were there before this step: those that come during it may follow what it does not see. */
    private List<Runnable> following() {
        if (afterwards.isEmpty()) {
            return List.of();
        }
        List<Runnable> tasks = new ArrayList<>();
        for (Runnable task = afterwards.poll(); task != null; task = afterwards.poll()) {
            tasks.add(task);
        }
        return tasks;
    }

    private void step() {
        long now = now();
        prepare();
        for (Waiter waiter = leavers.poll(); waiter != null; waiter = leavers.poll()) {
            if (waiter.linked) {
                unlink(waiter);
                ended(waiter, false, WaitOutcome.CANCELLED);
                left();
            }
        }
        for (Waiter waiter = arrivals.poll(); waiter != null; waiter = arrivals.poll()) {
            waiters.add(waiter);
            if (waiter.isWaiting()) {
                waiter.admitted = true;
                admit(waiter, now);
            } else {
                unlink(waiter);
                ended(waiter, false, WaitOutcome.CANCELLED);
            }
        }
        Throwable cause = room.isClosed() ? room.closedException() : breakdown;
        if (cause != null) {
            breakdown = null;
            failAll(cause);
        }
        long turn = serve(now);
        Waiter impatient = waiters.impatient();
        wakeAt = impatient == null ? turn : Math.min(turn, impatient.notAfter);
    }

    /** Denies those whose patience has ended. */
    final void expire(long now) {
        Waiter impatient = waiters.impatient();
        while (impatient != null && impatient.notAfter <= now) {
            deny(impatient, now, Algorithm.UNKNOWN);
            impatient = waiters.impatient();
        }
    }

    /** Denies permits that could be had at {@code grantedAt}, {@link Algorithm#UNKNOWN} if nobody can know. */
    abstract void deny(Waiter waiter, long now, long grantedAt);

    final void failAll(Throwable cause) {
        for (Waiter waiter = waiters.first(); waiter != null; waiter = waiters.first()) {
            fail(waiter, cause, WaitOutcome.CLOSED);
        }
        left();
    }

    final void fail(Waiter waiter, Throwable cause, WaitOutcome outcome) {
        unlink(waiter);
        ended(waiter, waiter.fail(cause), outcome);
    }

    /** Answers a member; false if it had left, and then what the decision took is still the caller's. */
    final boolean answer(Waiter waiter, Decision decision) {
        unlink(waiter);
        boolean told = waiter.answer(decision);
        ended(waiter, told, decision.allowed() ? WaitOutcome.GRANTED : WaitOutcome.DENIED);
        return told;
    }

    /** Before a member is told: whoever is told and asks again at once must not stand in its own way. */
    private void unlink(Waiter waiter) {
        waiters.remove(waiter);
        length.decrementAndGet();
        if (waiter.admitted) {
            unlinked(waiter);
        }
    }

    /** One that was told departs when its subscriber's code has run, one that left departs now. */
    private void ended(Waiter waiter, boolean told, WaitOutcome outcome) {
        room.recorder().waitEnded(told ? outcome : WaitOutcome.CANCELLED, now() - waiter.arrivedAt);
        if (!told) {
            room.departed();
        }
    }
}
