package io.github.reactorratelimit.examples.playground;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/**
 * Time that may run ahead: what is scheduled waits until {@link #history} runs it, as if its time had come, or {@link #end} hands it over to another
 * scheduler, from whose time this one differs by the head start from then on. Until the end only one thread may use it.
 */
public final class HeadStart implements Scheduler {

    private final Scheduler real;
    private final long startNanos;
    private final long startMillis;
    private final PriorityQueue<Task> tasks = new PriorityQueue<>();
    private long scheduled;
    private long aheadNanos;
    private volatile @Nullable Lead lead;

    /** What to add to the time of the other scheduler, which may read two clocks: one of nanoseconds and one of milliseconds. */
    private record Lead(long nanos, long millis) {}

    /** Nothing has run yet. */
    public HeadStart(Scheduler real) {
        this.real = real;
        this.startNanos = real.now(TimeUnit.NANOSECONDS);
        this.startMillis = real.now(TimeUnit.MILLISECONDS);
    }

    /** Runs all that is due in the next {@code duration}, and takes a picture after each {@code step}; a picture that is not there at once is left out. */
    <F> List<F> history(Duration duration, Duration step, Supplier<Mono<F>> picture) {
        List<F> pictures = new ArrayList<>();
        for (long end = aheadNanos + duration.toNanos(); aheadNanos < end; ) {
            advance(step.toNanos());
            picture.get().subscribe(pictures::add);
        }
        return pictures;
    }

    private void advance(long nanos) {
        long until = aheadNanos + nanos;
        for (Task next = tasks.peek(); next != null && next.atNanos <= until; next = tasks.peek()) {
            tasks.remove();
            aheadNanos = Math.max(aheadNanos, next.atNanos);
            next.runAhead();
        }
        aheadNanos = until;
    }

    /** From now on time passes as the other scheduler has it; a second call does nothing. */
    public void end() {
        if (lead != null) {
            return;
        }
        lead = new Lead(
                now(TimeUnit.NANOSECONDS) - real.now(TimeUnit.NANOSECONDS),
                now(TimeUnit.MILLISECONDS) - real.now(TimeUnit.MILLISECONDS));
        for (Task task = tasks.poll(); task != null; task = tasks.poll()) {
            task.handOver();
        }
    }

    @Override
    public long now(TimeUnit unit) {
        boolean coarse = unit.compareTo(TimeUnit.MILLISECONDS) >= 0;
        Lead ended = lead;
        if (ended != null) {
            return real.now(unit)
                    + (coarse
                            ? unit.convert(ended.millis(), TimeUnit.MILLISECONDS)
                            : unit.convert(ended.nanos(), TimeUnit.NANOSECONDS));
        }
        return coarse
                ? unit.convert(startMillis + TimeUnit.NANOSECONDS.toMillis(aheadNanos), TimeUnit.MILLISECONDS)
                : unit.convert(startNanos + aheadNanos, TimeUnit.NANOSECONDS);
    }

    @Override
    public Disposable schedule(Runnable task) {
        return schedule(task, 0, TimeUnit.NANOSECONDS);
    }

    @Override
    public Disposable schedule(Runnable task, long delay, TimeUnit unit) {
        return lead != null
                ? real.schedule(task, delay, unit)
                : later(task, unit.toNanos(delay), nanos -> real.schedule(task, nanos, TimeUnit.NANOSECONDS));
    }

    @Override
    public Disposable schedulePeriodically(Runnable task, long initialDelay, long period, TimeUnit unit) {
        if (lead != null) {
            return real.schedulePeriodically(task, initialDelay, period, unit);
        }
        long periodNanos = unit.toNanos(period);
        return again(
                task,
                unit.toNanos(initialDelay),
                periodNanos,
                nanos -> real.schedulePeriodically(task, nanos, periodNanos, TimeUnit.NANOSECONDS));
    }

    @Override
    public Worker createWorker() {
        return new AheadWorker(real.createWorker());
    }

    /** Schedules on the other scheduler what has not run, so many nanoseconds from now. */
    @FunctionalInterface
    private interface Handover {
        Disposable after(long nanos);
    }

    private Task later(Runnable task, long delayNanos, Handover handover) {
        return again(task, delayNanos, 0, handover);
    }

    private Task again(Runnable task, long delayNanos, long periodNanos, Handover handover) {
        Task made = new Task(task, handover, periodNanos);
        made.atNanos = aheadNanos + Math.max(0, delayNanos);
        enqueue(made);
        return made;
    }

    private void enqueue(Task task) {
        task.order = scheduled++;
        tasks.add(task);
    }

    /** One that is due later comes later; of those that are due together, the one that was scheduled first is first. */
    private final class Task implements Disposable, Comparable<Task> {

        private final Runnable run;
        private final Handover handover;
        private final long periodNanos;
        private final Disposable.Swap handedOver = Disposables.swap();
        private long atNanos;
        private long order;

        Task(Runnable run, Handover handover, long periodNanos) {
            this.run = run;
            this.handover = handover;
            this.periodNanos = periodNanos;
        }

        void runAhead() {
            if (isDisposed()) {
                return;
            }
            run.run();
            if (periodNanos > 0) {
                atNanos += periodNanos;
                enqueue(this);
            }
        }

        void handOver() {
            if (!isDisposed()) {
                handedOver.update(handover.after(Math.max(0, atNanos - aheadNanos)));
            }
        }

        @Override
        public int compareTo(Task other) {
            int byTime = Long.compare(atNanos, other.atNanos);
            return byTime == 0 ? Long.compare(order, other.order) : byTime;
        }

        @Override
        public void dispose() {
            handedOver.dispose();
        }

        @Override
        public boolean isDisposed() {
            return handedOver.isDisposed();
        }
    }

    /** Its tasks run one after the other, ahead as well as later. */
    private final class AheadWorker implements Worker {

        private final Worker worker;

        AheadWorker(Worker worker) {
            this.worker = worker;
        }

        @Override
        public Disposable schedule(Runnable task) {
            return lead != null ? worker.schedule(task) : schedule(task, 0, TimeUnit.NANOSECONDS);
        }

        @Override
        public Disposable schedule(Runnable task, long delay, TimeUnit unit) {
            return lead != null
                    ? worker.schedule(task, delay, unit)
                    : later(
                            unlessClosed(task),
                            unit.toNanos(delay),
                            nanos -> worker.schedule(task, nanos, TimeUnit.NANOSECONDS));
        }

        @Override
        public Disposable schedulePeriodically(Runnable task, long initialDelay, long period, TimeUnit unit) {
            if (lead != null) {
                return worker.schedulePeriodically(task, initialDelay, period, unit);
            }
            long periodNanos = unit.toNanos(period);
            return again(
                    unlessClosed(task),
                    unit.toNanos(initialDelay),
                    periodNanos,
                    nanos -> worker.schedulePeriodically(task, nanos, periodNanos, TimeUnit.NANOSECONDS));
        }

        private Runnable unlessClosed(Runnable task) {
            return () -> {
                if (!isDisposed()) {
                    task.run();
                }
            };
        }

        @Override
        public void dispose() {
            worker.dispose();
        }

        @Override
        public boolean isDisposed() {
            return worker.isDisposed();
        }
    }
}
