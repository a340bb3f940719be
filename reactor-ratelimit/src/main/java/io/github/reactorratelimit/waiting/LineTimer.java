package io.github.reactorratelimit.waiting;

import io.github.reactorratelimit.algorithm.Algorithm;
import java.util.Comparator;
import java.util.Queue;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;
import reactor.core.scheduler.Scheduler;

/**
 * Wakes the lines of a limiter at their times with one pending task, armed for the earliest of them
 * against absolute time, so that lateness never adds up.
 */
final class LineTimer extends SerialWorker {

    private final Scheduler scheduler;
    private final Runnable onSchedulerGone;

    private final Queue<Line> changed = new ConcurrentLinkedQueue<>();

    /** Owned by whoever works off the mailbox, as is the field below. */
    private final TreeSet<Line> held =
            new TreeSet<>(Comparator.<Line>comparingLong(line -> line.heldAt).thenComparingLong(line -> line.id));

    private @Nullable Alarm alarm;

    LineTimer(Scheduler scheduler, Runnable onSchedulerGone) {
        this.scheduler = scheduler;
        this.onSchedulerGone = onSchedulerGone;
    }

    /** The line has another wake-up time, or none. */
    void update(Line line) {
        changed.offer(line);
        poke();
    }

    /** The pending task. One that could not be disposed in time fires in vain. */
    private final class Alarm implements Runnable {

        private final long at;
        private volatile boolean fired;
        private @Nullable Disposable task;

        Alarm(long at) {
            this.at = at;
        }

        @Override
        public void run() {
            fired = true;
            poke();
        }
    }

    @Override
    void work() {
        if (alarm != null && alarm.fired) {
            alarm = null;
        }
        for (Line line = changed.poll(); line != null; line = changed.poll()) {
            hold(line, line.wakeAt);
        }
        while (!held.isEmpty() && held.first().heldAt <= held.first().now()) {
            Line due = held.first();
            hold(due, Algorithm.UNKNOWN);
            due.poke();
        }
        if (held.isEmpty()) {
            disarm();
        } else {
            armFor(held.first());
        }
    }

    private void hold(Line line, long at) {
        if (line.heldAt != Algorithm.UNKNOWN) {
            held.remove(line);
        }
        line.heldAt = at;
        if (at != Algorithm.UNKNOWN) {
            held.add(line);
        }
    }

    /** A task armed for an earlier time stays: it fires in vain and arms the next, cheaper than arming twice. */
    private void armFor(Line line) {
        if (alarm != null && alarm.at <= line.heldAt) {
            return;
        }
        disarm();
        Alarm next = new Alarm(line.heldAt);
        alarm = next;
        try {
            next.task = scheduler.schedule(next, Math.max(0, next.at - line.now()), TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException refused) {
            alarm = null;
            hold(line, Algorithm.UNKNOWN);
            if (scheduler.isDisposed()) {
                onSchedulerGone.run();
            } else {
                line.breakDown(new IllegalStateException(
                        "scheduler must be able to delay tasks, but this one refused: " + scheduler, refused));
            }
        }
    }

    private void disarm() {
        if (alarm != null && alarm.task != null) {
            alarm.task.dispose();
        }
        alarm = null;
    }
}
