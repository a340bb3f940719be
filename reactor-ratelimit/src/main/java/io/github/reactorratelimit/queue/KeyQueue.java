package io.github.reactorratelimit.queue;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitRecorder.WaitOutcome;
import io.github.reactorratelimit.algorithm.Algorithm;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

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

    /** The queues of a limiter. */
    interface Owner {

        /** Another {@link #wakeAt}. */
        void rescheduled(KeyQueue<?> queue);

        /** It accepts no waiter any more. */
        void retired(KeyQueue<?> queue);
    }

    private final QueueRuntime runtime;

    /** Waiters that join, and later those that cancel; and events. */
    private final Queue<Object> mailbox = new ConcurrentLinkedQueue<>();

    private final AtomicInteger length = new AtomicInteger();

    /** Written before the first waiter joins. */
    private @Nullable Owner owner;

    /** When the owner signals it. Written by the drain loop, and by the owner before it signals. */
    volatile long wakeAt = Algorithm.UNKNOWN;

    /** The owner's: under which time it holds this queue, and what tells it from others with the same time. */
    long heldAt = Algorithm.UNKNOWN;

    long number;

    /** The key as the next grant comes from it; that of the first waiter until a subclass replaces it in the drain loop. */
    protected volatile R key;

    /** The fields below belong to the drain loop. The waiters in order of arrival. */
    private final Set<Waiter<R>> waiters = new LinkedHashSet<>();

    private long permits;
    private long mostPermits;

    /** Waiters with a deadline that nothing else watches, by that deadline. */
    private @Nullable TreeSet<Waiter<R>> deadlines;

    private List<Runnable> following = List.of();
    private long sequence;

    /** The time of this round of the drain loop. */
    private long drainedAt;

    protected KeyQueue(QueueRuntime runtime, R key) {
        this.runtime = runtime;
        this.key = key;
    }

    final void belongsTo(Owner queues, long id) {
        owner = queues;
        number = id;
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

    /** The waiters in this queue, those in the mailbox included. */
    public final int length() {
        return length.get();
    }

    /** False if the queue has retired without this waiter. */
    final boolean join(Waiter<R> waiter) {
        length.incrementAndGet();
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
        LongConsumer event = now -> follow(task);
        mailbox.offer(event);
        if (!signal() && mailbox.remove(event)) {
            task.run();
        }
    }

    private void follow(Runnable task) {
        if (following.isEmpty()) {
            following = new ArrayList<>();
        }
        following.add(task);
    }

    @Override
    protected final boolean isDone() {
        return waiters.isEmpty() && mailbox.isEmpty() && !isBusy();
    }

    @Override
    protected final void retired() {
        if (owner != null) {
            owner.retired(this);
        }
    }

    @Override
    protected final void drain() {
        long next = Algorithm.UNKNOWN;
        try {
            drainedAt = key.now();
            for (Object mail = mailbox.poll(); mail != null; mail = mailbox.poll()) {
                handle(mail, drainedAt);
            }
            if (runtime.isClosed()) {
                failAll(runtime.closedException());
            }
            next = serve(drainedAt);
            Waiter<R> impatient = impatient();
            next = impatient == null ? next : Math.min(next, impatient.notAfter());
        } catch (Throwable broken) {
            failAll(broken);
        }
        if (wakeAt != next && owner != null) {
            wakeAt = next;
            owner.rescheduled(this);
        }
        runtime.dispatch();
        List<Runnable> tasks = following;
        following = List.of();
        tasks.forEach(Runnable::run);
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
                length.decrementAndGet();
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
        waiters.add(waiter);
        permits += waiter.permits();
        mostPermits = waiters.size() == 1 ? waiter.permits() : Math.max(mostPermits, waiter.permits());
    }

    private void unlink(Waiter<R> waiter) {
        waiter.linked = false;
        waiters.remove(waiter);
        permits -= waiter.permits();
        if (deadlines != null) {
            deadlines.remove(waiter);
        }
        length.decrementAndGet();
    }

    /** The head. */
    protected final @Nullable Waiter<R> first() {
        return waiters.isEmpty() ? null : waiters.iterator().next();
    }

    /** The waiters in order of arrival. */
    protected final Collection<Waiter<R>> waiters() {
        return waiters;
    }

    /** How many waiters there are. */
    protected final int size() {
        return waiters.size();
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

    /** Denies the watched waiters whose deadline has passed. */
    protected final void expire(long now) {
        denyUntil(now, now, Algorithm.UNKNOWN);
    }

    /** Denies the watched waiters whose deadline is not after {@code lastDeadline}. */
    protected final void denyUntil(long lastDeadline, long now, long grantedAt) {
        for (Waiter<R> late = impatient(); late != null && late.notAfter() <= lastDeadline; late = impatient()) {
            deny(late, now, grantedAt);
        }
    }

    /** Fails all waiters. */
    protected final void failAll(Throwable cause) {
        for (Waiter<R> waiter = first(); waiter != null; waiter = first()) {
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
        runtime.recorder().queueChanged(-1);
        runtime.recorder().waited(claimed ? outcome : WaitOutcome.CANCELLED, drainedAt - waiter.arrivedAt);
        if (!claimed) {
            runtime.departed();
        }
    }
}
