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

    private final Queue<Alarm> changed = new ConcurrentLinkedQueue<>();

    /** Owned by the drain loop, as is the field below. */
    private final TreeSet<Alarm> held =
            new TreeSet<>(Comparator.<Alarm>comparingLong(alarm -> alarm.heldAt).thenComparingLong(alarm -> alarm.id));

    private @Nullable Pending pending;

    QueueTimer(Scheduler scheduler, Runnable onSchedulerDisposed) {
        this.scheduler = scheduler;
        this.onSchedulerDisposed = onSchedulerDisposed;
    }

    /** What is woken. */
    interface Sleeper {

        long now();

        boolean signal();

        /** The scheduler cannot delay tasks. */
        void fail(Throwable cause);
    }

    Alarm alarm(Sleeper sleeper) {
        return new Alarm(sleeper, ids.incrementAndGet());
    }

    /** The time at which one queue is woken. */
    final class Alarm {

        private final Sleeper sleeper;
        private final long id;

        /** Written by the sleeper, and by the timer before it wakes the sleeper. */
        private volatile long at = Algorithm.UNKNOWN;

        /** The timer's: under which time it holds this alarm. */
        private long heldAt = Algorithm.UNKNOWN;

        Alarm(Sleeper sleeper, long id) {
            this.sleeper = sleeper;
            this.id = id;
        }

        /** Wakes at this time, {@link Algorithm#UNKNOWN} for never. */
        void set(long time) {
            if (at != time) {
                at = time;
                changed.offer(this);
                QueueTimer.this.signal();
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
        for (Alarm alarm = changed.poll(); alarm != null; alarm = changed.poll()) {
            hold(alarm, alarm.at);
        }
        while (!held.isEmpty() && held.first().heldAt <= held.first().sleeper.now()) {
            Alarm due = held.first();
            hold(due, Algorithm.UNKNOWN);
            // Before the signal: the sleeper then sets it again, also to the same time.
            due.at = Algorithm.UNKNOWN;
            due.sleeper.signal();
        }
        if (held.isEmpty()) {
            dispose();
        } else {
            schedule(held.first());
        }
    }

    private void hold(Alarm alarm, long at) {
        if (alarm.heldAt != Algorithm.UNKNOWN) {
            held.remove(alarm);
        }
        alarm.heldAt = at;
        if (at != Algorithm.UNKNOWN) {
            held.add(alarm);
        }
    }

    /** A task scheduled for an earlier time stays: it fires in vain and schedules the next, cheaper than scheduling twice. */
    private void schedule(Alarm alarm) {
        if (pending != null && pending.at <= alarm.heldAt) {
            return;
        }
        dispose();
        Pending next = new Pending(alarm.heldAt);
        pending = next;
        try {
            next.task = scheduler.schedule(next, Math.max(0, next.at - alarm.sleeper.now()), TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException refused) {
            pending = null;
            hold(alarm, Algorithm.UNKNOWN);
            if (scheduler.isDisposed()) {
                onSchedulerDisposed.run();
            } else {
                alarm.sleeper.fail(new IllegalStateException(
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
