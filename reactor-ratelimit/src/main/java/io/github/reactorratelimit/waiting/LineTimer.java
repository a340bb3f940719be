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
final class LineTimer extends SerialWorker implements Runnable {

    private final Scheduler scheduler;
    private final Runnable onSchedulerGone;
    private final DisposalWatch watch;

    private final Queue<Line> changed = new ConcurrentLinkedQueue<>();
    private volatile boolean fired;

    /** Owned by whoever works off the mailbox, as are the two fields below. */
    private final TreeSet<Line> held =
            new TreeSet<>(Comparator.<Line>comparingLong(line -> line.heldAt).thenComparingLong(line -> line.id));

    private long armedAt = Algorithm.UNKNOWN;
    private @Nullable Disposable armed;

    LineTimer(Scheduler scheduler, Runnable onSchedulerGone) {
        this.scheduler = scheduler;
        this.onSchedulerGone = onSchedulerGone;
        this.watch = new DisposalWatch(scheduler, onSchedulerGone);
    }

    /** The line has another wake-up time, or none. */
    void update(Line line) {
        changed.offer(line);
        poke();
    }

    /** The armed task. */
    @Override
    public void run() {
        fired = true;
        poke();
    }

    @Override
    void work() {
        if (fired) {
            fired = false;
            armed = null;
            armedAt = Algorithm.UNKNOWN;
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
            watch.stop();
        } else {
            armFor(held.first());
            watch.start();
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
        if (armed != null && armedAt <= line.heldAt) {
            return;
        }
        disarm();
        armedAt = line.heldAt;
        try {
            armed = scheduler.schedule(this, Math.max(0, armedAt - line.now()), TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException gone) {
            onSchedulerGone.run();
        }
    }

    private void disarm() {
        if (armed != null) {
            armed.dispose();
            armed = null;
            armedAt = Algorithm.UNKNOWN;
        }
    }
}
