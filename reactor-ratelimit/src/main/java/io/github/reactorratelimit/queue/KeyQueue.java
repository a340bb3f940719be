package io.github.reactorratelimit.queue;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitRecorder.WaitOutcome;
import io.github.reactorratelimit.algorithm.Algorithm;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Queue;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.scheduler.Scheduler;

/**
 * The queue of one key: its waiters in order of arrival, each of which can be removed in constant time. Everything that happens to
 * it (a waiter joins or cancels, permits come back, the timer fires, the limiter closes) goes through its mailbox to its drain
 * loop. Subclasses say where the next grant comes from. The drain loop never runs the code of subscribers: answers are
 * delivered on other threads.
 *
 * <p>An empty queue retires: it accepts no waiter any more, and the next one makes another queue.
 *
 * @param <R> what its waiters request
 */
public abstract class KeyQueue<R extends QueuedRequest> extends DrainLoop {

    final QueueRuntime runtime;

    /** Waiters that join, and later those that cancel; and events. */
    private final Queue<Object> mailbox = new ConcurrentLinkedQueue<>();

    private final AtomicLong waitingPermits = new AtomicLong();

    /** Whether a timer task has fired since the drain loop last looked. */
    private volatile boolean hasFired;

    /** The key as the next grant comes from it; that of the first waiter until a subclass replaces it in the drain loop. */
    protected volatile R key;

    /** The fields below belong to the drain loop. The first and the last waiter in order of arrival; the others are linked to them. */
    private @Nullable Waiter<R> first;

    private @Nullable Waiter<R> last;
    private int size;
    private long permits;
    private long mostPermits;

    /** Waiters with a deadline that nothing else watches, by that deadline. */
    private @Nullable TreeSet<Waiter<R>> deadlines;

    /** What runs at the end of this round of the drain loop. */
    private final Queue<Runnable> following = new ArrayDeque<>(0);

    private long sequence;

    /** When the pending timer task fires; {@link Algorithm#UNKNOWN} if there is none. */
    private long pendingAt = Algorithm.UNKNOWN;

    private Disposable pending = Disposables.disposed();

    /** The time of this round of the drain loop. */
    private long drainedAt;

    protected KeyQueue(QueueRuntime runtime, R key) {
        this.runtime = runtime;
        this.key = key;
    }

    /** Accepts a newcomer, which is in the queue already, or denies it. */
    protected abstract void admit(Waiter<R> newcomer, long now);

    /** A waiter is in the queue no longer. */
    protected void left(Waiter<R> waiter, boolean granted) {}

    /** Answers the waiters that can be answered; the time at which to look again, {@link Algorithm#UNKNOWN} if there is none. */
    protected abstract long serve(long now);

    /** Denies a waiter whose grant would come at {@code grantedAt}, {@link Algorithm#UNKNOWN} if that is not known. */
    protected abstract void deny(Waiter<R> waiter, long now, long grantedAt);

    /** Whether the queue must not retire although it is empty. */
    protected boolean isBusy() {
        return false;
    }

    /** What the waiters in this queue need together, those in the mailbox included; 0 only if there are none. */
    public final long waitingPermits() {
        return waitingPermits.get();
    }

    /** False if the queue has retired without this waiter. */
    final boolean join(Waiter<R> waiter) {
        waitingPermits.addAndGet(waiter.permits());
        mailbox.offer(waiter);
        return signal() || !mailbox.remove(waiter);
    }

    /** The waiter, which joined, cancelled. */
    final void leave(Waiter<R> waiter) {
        mailbox.offer(waiter);
        signal();
    }

    /** Runs an event in the drain loop, with its time, before waiters are served; never if the queue has retired. */
    protected final void post(LongConsumer event) {
        mailbox.offer(event);
        signal();
    }

    /** Runs the task after everything that is in the mailbox now was handled. */
    final void afterwards(Runnable task) {
        LongConsumer event = now -> following.add(task);
        mailbox.offer(event);
        if (!signal() && mailbox.remove(event)) {
            task.run();
        }
    }

    @Override
    protected final boolean isDone() {
        return size == 0 && mailbox.isEmpty() && !isBusy();
    }

    @Override
    protected final void retired() {
        runtime.retired(key.key(), this);
    }

    @Override
    protected final void drain() {
        long next = Algorithm.UNKNOWN;
        if (hasFired) {
            // Not after the queue has looked at the time: a task that fires meanwhile would be forgotten.
            hasFired = false;
            pendingAt = Algorithm.UNKNOWN;
        }
        try {
            drainedAt = key.now();
            for (Object mail = mailbox.poll(); mail != null; mail = mailbox.poll()) {
                handle(mail, drainedAt);
            }
            if (runtime.isClosed()) {
                failAll(runtime.closedException());
            }
            denyUntil(drainedAt, drainedAt, Algorithm.UNKNOWN);
            next = serve(drainedAt);
            Waiter<R> impatient = impatient();
            next = impatient == null ? next : Math.min(next, impatient.notAfter());
        } catch (Throwable broken) {
            failAll(broken);
        }
        wakeAt(next);
        runtime.dispatch();
        for (Runnable task = following.poll(); task != null; task = following.poll()) {
            task.run();
        }
    }

    /**
     * Looks again at this time, which is absolute, so that lateness never adds up. A task for an earlier time stays: it fires in vain
     * and schedules the next, cheaper than scheduling twice. One that could not be disposed in time fires in vain too.
     */
    private void wakeAt(long next) {
        if (next == Algorithm.UNKNOWN || next < pendingAt) {
            pending.dispose();
            pendingAt = next;
            if (next != Algorithm.UNKNOWN) {
                schedule(next - key.now());
            }
        }
    }

    private void schedule(long delayNanos) {
        Scheduler scheduler = runtime.scheduler;
        try {
            pending = scheduler.schedule(this::fire, Math.max(0, delayNanos), TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException refused) {
            pendingAt = Algorithm.UNKNOWN;
            if (scheduler.isDisposed()) {
                runtime.closeNow();
            } else {
                failAll(new IllegalStateException(
                        "scheduler must be able to delay tasks, but this one refused: " + scheduler, refused));
            }
        }
    }

    private void fire() {
        hasFired = true;
        signal();
    }

    @SuppressWarnings("unchecked")
    private void handle(Object mail, long now) {
        if (mail instanceof LongConsumer event) {
            event.accept(now);
            return;
        }
        Waiter<R> waiter = (Waiter<R>) mail;
        if (waiter.sequence == 0) {
            waiter.sequence = ++sequence;
            if (waiter.isWaiting()) {
                link(waiter);
                admit(waiter, now);
            } else {
                waitingPermits.addAndGet(-waiter.permits());
                ended(waiter, false, WaitOutcome.CANCELLED);
            }
        } else if (waiter.linked) {
            unlink(waiter);
            left(waiter, false);
            ended(waiter, false, WaitOutcome.CANCELLED);
        }
    }

    private void link(Waiter<R> waiter) {
        waiter.linked = true;
        waiter.previous = last;
        if (last == null) {
            first = waiter;
        } else {
            last.next = waiter;
        }
        last = waiter;
        size++;
        permits += waiter.permits();
        mostPermits = size == 1 ? waiter.permits() : Math.max(mostPermits, waiter.permits());
    }

    private void unlink(Waiter<R> waiter) {
        waiter.linked = false;
        if (waiter.previous == null) {
            first = waiter.next;
        } else {
            waiter.previous.next = waiter.next;
        }
        if (waiter.next == null) {
            last = waiter.previous;
        } else {
            waiter.next.previous = waiter.previous;
        }
        waiter.previous = null;
        waiter.next = null;
        size--;
        permits -= waiter.permits();
        if (deadlines != null) {
            deadlines.remove(waiter);
        }
        waitingPermits.addAndGet(-waiter.permits());
    }

    /** The head. */
    protected final @Nullable Waiter<R> first() {
        return first;
    }

    /** The waiters that are here now, in order of arrival. */
    protected final List<Waiter<R>> waiters() {
        List<Waiter<R>> waiters = new ArrayList<>(size);
        for (Waiter<R> waiter = first; waiter != null; waiter = waiter.next) {
            waiters.add(waiter);
        }
        return waiters;
    }

    /** How many waiters there are. */
    protected final int size() {
        return size;
    }

    /** Whether there are more waiters than may wait for one key. */
    protected final boolean isOverfull() {
        return size > runtime.maxWaiters;
    }

    /** What all of them need together. */
    protected final long permits() {
        return permits;
    }

    /** No waiter needs more than this. */
    final long mostPermits() {
        return mostPermits;
    }

    /** Denies the waiter when its deadline passes, unless it is answered before. */
    protected final void watch(Waiter<R> waiter) {
        if (waiter.hasDeadline()) {
            if (deadlines == null) {
                deadlines = new TreeSet<>(
                        Comparator.<Waiter<R>>comparingLong(Waiter::notAfter).thenComparingLong(one -> one.sequence));
            }
            deadlines.add(waiter);
        }
    }

    /** The watched waiter whose deadline is first. */
    protected final @Nullable Waiter<R> impatient() {
        return deadlines == null || deadlines.isEmpty() ? null : deadlines.first();
    }

    /** Denies the watched waiters whose deadline is not after {@code lastDeadline}. */
    protected final void denyUntil(long lastDeadline, long now, long grantedAt) {
        for (Waiter<R> late = impatient(); late != null && late.notAfter() <= lastDeadline; late = impatient()) {
            deny(late, now, grantedAt);
        }
    }

    /** Fails all waiters. */
    protected final void failAll(Throwable cause) {
        for (Waiter<R> waiter = first; waiter != null; waiter = first) {
            answer(waiter, cause, WaitOutcome.CLOSED);
        }
    }

    /** Answers a waiter by a decision. */
    protected final boolean answer(Waiter<R> waiter, Decision decision) {
        return answer(waiter, decision, decision.allowed() ? WaitOutcome.GRANTED : WaitOutcome.DENIED);
    }

    /**
     * Answers a waiter, which leaves the queue before: a subscriber that requests again at once must not find itself in
     * its way. False if it had cancelled: then what the answer grants still belongs to the caller.
     */
    protected final boolean answer(Waiter<R> waiter, Object answer, WaitOutcome outcome) {
        unlink(waiter);
        boolean claimed = waiter.claim(answer);
        left(waiter, claimed && outcome == WaitOutcome.GRANTED);
        ended(waiter, claimed, outcome);
        return claimed;
    }

    /** A waiter that was answered departs when its subscriber's code has run, one that cancelled departs now. */
    private void ended(Waiter<R> waiter, boolean claimed, WaitOutcome outcome) {
        runtime.recorder.queueChanged(-1);
        runtime.recorder.waited(claimed ? outcome : WaitOutcome.CANCELLED, drainedAt - waiter.arrivedAt);
        if (!claimed) {
            runtime.departed();
        }
    }
}
