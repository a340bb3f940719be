package io.github.reactorratelimit.queue;

import io.github.reactorratelimit.algorithm.Algorithm;
import java.util.Comparator;
import java.util.Queue;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;
import reactor.core.scheduler.Scheduler;

/**
 * Wakes the queues of a limiter at their times with one pending task, scheduled for the earliest of them against
 * absolute time, so that lateness never adds up.
 */
final class QueueTimer extends DrainLoop {

    private final Scheduler scheduler;
    private final Runnable onSchedulerDisposed;
    private final AtomicLong ids = new AtomicLong();
    private final Queue<Sleeper> changed = new ConcurrentLinkedQueue<>();

    /** Owned by the drain loop, as is the field below. */
    private final TreeSet<Sleeper> held =
            new TreeSet<>(Comparator.<Sleeper>comparingLong(one -> one.heldAt).thenComparingLong(one -> one.id));

    private @Nullable Pending pending;

    QueueTimer(Scheduler scheduler, Runnable onSchedulerDisposed) {
        this.scheduler = scheduler;
        this.onSchedulerDisposed = onSchedulerDisposed;
    }

    /** A drain loop that the timer can signal at a time. */
    abstract static class Sleeper extends DrainLoop {

        private final QueueTimer timer;
        private final long id;

        /** Written by the sleeper, and by the timer before it wakes the sleeper. */
        private volatile long wakeAt = Algorithm.UNKNOWN;

        /** The timer's: under which time it holds this sleeper. */
        private long heldAt = Algorithm.UNKNOWN;

        Sleeper(QueueTimer timer) {
            this.timer = timer;
            this.id = timer.ids.incrementAndGet();
        }

        abstract long now();

        /** The scheduler cannot delay tasks. */
        abstract void fail(Throwable cause);

        /** Wakes at this time, {@link Algorithm#UNKNOWN} for never. */
        final void sleepUntil(long time) {
            if (wakeAt != time) {
                wakeAt = time;
                timer.changed.offer(this);
                timer.signal();
            }
        }
    }

    /** The pending task. One that could not be disposed in time fires in vain. */
    private final class Pending implements Runnable {

        private final long at;
        private volatile boolean fired;
        private @Nullable Disposable task;

        Pending(long at) {
            this.at = at;
        }

        @Override
        public void run() {
            fired = true;
            signal();
        }
    }

    @Override
    protected void drain() {
        if (pending != null && pending.fired) {
            pending = null;
        }
        for (Sleeper sleeper = changed.poll(); sleeper != null; sleeper = changed.poll()) {
            hold(sleeper, sleeper.wakeAt);
        }
        while (!held.isEmpty() && held.first().heldAt <= held.first().now()) {
            Sleeper due = held.first();
            hold(due, Algorithm.UNKNOWN);
            // Before the signal: the sleeper then sets it again, also to the same time.
            due.wakeAt = Algorithm.UNKNOWN;
            due.signal();
        }
        if (held.isEmpty()) {
            dispose();
        } else if (pending == null || pending.at > held.first().heldAt) {
            // A task for an earlier time stays: it fires in vain and schedules the next, cheaper than scheduling twice.
            dispose();
            schedule(held.first());
        }
    }

    private void hold(Sleeper sleeper, long at) {
        if (sleeper.heldAt != Algorithm.UNKNOWN) {
            held.remove(sleeper);
        }
        sleeper.heldAt = at;
        if (at != Algorithm.UNKNOWN) {
            held.add(sleeper);
        }
    }

    private void schedule(Sleeper first) {
        Pending next = new Pending(first.heldAt);
        pending = next;
        try {
            next.task = scheduler.schedule(next, Math.max(0, next.at - first.now()), TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException refused) {
            pending = null;
            hold(first, Algorithm.UNKNOWN);
            if (scheduler.isDisposed()) {
                onSchedulerDisposed.run();
            } else {
                first.fail(new IllegalStateException(
                        "scheduler must be able to delay tasks, but this one refused: " + scheduler, refused));
            }
        }
    }

    private void dispose() {
        if (pending != null && pending.task != null) {
            pending.task.dispose();
        }
        pending = null;
    }
}
