package io.github.reactorratelimit.queue;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitRecorder.WaitOutcome;
import io.github.reactorratelimit.algorithm.Algorithm;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Queue;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The queue of one key. Everything that happens to it (a waiter joins or cancels, permits come back, the timer fires, the
 * limiter closes) is left in its mailbox; its drain loop looks at all of it. Subclasses say where the next grant comes
 * from. The drain loop never runs the code of subscribers: answers are delivered on other threads.
 *
 * <p>An empty queue retires: it accepts no waiter any more, and the next one makes another queue.
 *
 * @param <W> its waiters
 * @param <S> their order
 */
public abstract class KeyQueue<W extends Waiter<?>, S extends WaiterSet<W>> extends QueueTimer.Sleeper {

    private final QueueRuntime runtime;
    private final Queue<W> arrivals = new ConcurrentLinkedQueue<>();
    private final Queue<W> leavers = new ConcurrentLinkedQueue<>();
    private final Queue<Runnable> afterwards = new ConcurrentLinkedQueue<>();
    private final AtomicInteger length = new AtomicInteger();
    private volatile @Nullable Throwable failure;
    private Runnable whenRetired = () -> {};

    /** The fields below belong to the drain loop. */
    protected final S waiters;

    /** Waiters with a deadline that nothing else watches, by that deadline. */
    private @Nullable TreeSet<W> deadlines;

    private long sequence;

    /** The time of this round of the drain loop. */
    private long drainedAt;

    protected KeyQueue(QueueRuntime runtime, S waiters) {
        super(runtime.timer());
        this.runtime = runtime;
        this.waiters = waiters;
    }

    /** Before the first waiter joins. */
    final void whenRetired(Runnable action) {
        whenRetired = action;
    }

    @Override
    protected final void retired() {
        whenRetired.run();
    }

    /** The waiters in this queue, those in the mailbox included. */
    public final int length() {
        return length.get();
    }

    /** The time, in nanoseconds of any origin. */
    @Override
    public abstract long now();

    /** Before the mailbox is read. */
    protected void prepare(long now) {}

    /** Accepts a newcomer, which is one of {@link #waiters} already, or denies it. */
    protected abstract void admit(W newcomer, long now);

    /** A waiter is none of {@link #waiters} any more. */
    protected void unlinked(W waiter) {}

    /** Answers the waiters that can be answered; the time at which to look again, {@link Algorithm#UNKNOWN} if there is none. */
    protected abstract long serve(long now);

    /** Denies a waiter whose grant would come at {@code grantedAt}, {@link Algorithm#UNKNOWN} if that is not known. */
    protected abstract void deny(W waiter, long now, long grantedAt);

    /** Whether the queue must not retire although it is empty. */
    protected boolean isBusy() {
        return false;
    }

    /** False if the queue has retired without this waiter. */
    public final boolean join(W waiter) {
        length.incrementAndGet();
        arrivals.offer(waiter);
        return signal() || !arrivals.remove(waiter);
    }

    /** The waiter cancelled. */
    public final void leave(W waiter) {
        leavers.offer(waiter);
        signal();
    }

    /** Fails the waiters that are here. */
    @Override
    final void fail(Throwable cause) {
        failure = cause;
        signal();
    }

    /** Runs the task after everything that is in the mailbox now was handled. */
    final void afterwards(Runnable task) {
        afterwards.offer(task);
        if (!signal() && afterwards.remove(task)) {
            task.run();
        }
    }

    @Override
    protected final boolean isDone() {
        return waiters.size() == 0 && arrivals.isEmpty() && afterwards.isEmpty() && !isBusy();
    }

    @Override
    protected final void drain() {
        List<Runnable> following = following();
        long wakeAt = Algorithm.UNKNOWN;
        try {
            drainedAt = now();
            wakeAt = drain(drainedAt);
        } catch (Throwable broken) {
            failAll(broken);
        }
        sleepUntil(wakeAt);
        runtime.dispatcher().dispatch();
        following.forEach(Runnable::run);
    }

    /** The tasks that were there before this round: those that come during it may follow what it does not see. */
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

    private long drain(long now) {
        prepare(now);
        for (W waiter = leavers.poll(); waiter != null; waiter = leavers.poll()) {
            if (waiter.linked) {
                unlink(waiter);
                ended(waiter, false, WaitOutcome.CANCELLED);
            }
        }
        for (W waiter = arrivals.poll(); waiter != null; waiter = arrivals.poll()) {
            waiter.sequence = sequence++;
            if (waiter.isWaiting()) {
                waiter.linked = true;
                waiters.add(waiter);
                admit(waiter, now);
            } else {
                length.decrementAndGet();
                ended(waiter, false, WaitOutcome.CANCELLED);
            }
        }
        Throwable cause = runtime.isClosed() ? runtime.closedException() : failure;
        if (cause != null) {
            failure = null;
            failAll(cause);
        }
        long wakeAt = serve(now);
        W impatient = impatient();
        return impatient == null ? wakeAt : Math.min(wakeAt, impatient.notAfter());
    }

    /** Denies the waiter when its deadline passes, unless it is answered before. */
    protected final void watch(W waiter) {
        if (waiter.hasDeadline()) {
            if (deadlines == null) {
                deadlines = new TreeSet<>(
                        Comparator.<W>comparingLong(Waiter::notAfter).thenComparingLong(one -> one.sequence));
            }
            deadlines.add(waiter);
        }
    }

    /** The watched waiter whose deadline is first. */
    protected final @Nullable W impatient() {
        return deadlines == null || deadlines.isEmpty() ? null : deadlines.first();
    }

    /** Denies the watched waiters whose deadline has passed. */
    protected final void expire(long now) {
        denyUntil(now, now, Algorithm.UNKNOWN);
    }

    /** Denies the watched waiters whose deadline is not after {@code last}. */
    protected final void denyUntil(long last, long now, long grantedAt) {
        for (W late = impatient(); late != null && late.notAfter() <= last; late = impatient()) {
            deny(late, now, grantedAt);
        }
    }

    /** Fails all waiters. */
    protected final void failAll(Throwable cause) {
        for (W waiter = waiters.first(); waiter != null; waiter = waiters.first()) {
            answer(waiter, cause, WaitOutcome.CLOSED);
        }
    }

    /**
     * Answers a waiter, which leaves the queue before: a subscriber that requests again at once must not find itself in
     * its way. False if it had cancelled: then what the answer grants still belongs to the caller.
     */
    protected final boolean answer(W waiter, Object answer, WaitOutcome outcome) {
        unlink(waiter);
        boolean claimed = waiter.claim(answer);
        ended(waiter, claimed, outcome);
        return claimed;
    }

    /** Removes a waiter after it was {@linkplain Waiter#claim claimed} for a grant, or could not be. */
    protected final void remove(W waiter, boolean claimed) {
        unlink(waiter);
        ended(waiter, claimed, WaitOutcome.GRANTED);
    }

    /** Answers a waiter by a decision. */
    protected final boolean answer(W waiter, Decision decision) {
        return answer(waiter, decision, decision.allowed() ? WaitOutcome.GRANTED : WaitOutcome.DENIED);
    }

    private void unlink(W waiter) {
        waiters.remove(waiter);
        waiter.linked = false;
        if (deadlines != null) {
            deadlines.remove(waiter);
        }
        length.decrementAndGet();
        unlinked(waiter);
    }

    /** A waiter that was answered departs when its subscriber's code has run, one that cancelled departs now. */
    private void ended(W waiter, boolean claimed, WaitOutcome outcome) {
        runtime.recorder().queueChanged(-1);
        runtime.recorder().waited(claimed ? outcome : WaitOutcome.CANCELLED, drainedAt - waiter.arrivedAt);
        if (!claimed) {
            runtime.departed();
        }
    }
}
