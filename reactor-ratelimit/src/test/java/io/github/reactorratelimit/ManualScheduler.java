package io.github.reactorratelimit;

import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.scheduler.Scheduler;

/**
 * A scheduler whose clock the test moves and whose tasks run when the test says so, possibly late:
 * unlike Reactor's virtual time, which runs every task at its exact time. Single-threaded but for
 * {@link #schedule}, which any thread may call.
 */
public final class ManualScheduler implements Scheduler {

    private record Task(long at, long sequence, Runnable action, Disposable handle) {}

    private final PriorityQueue<Task> tasks =
            new PriorityQueue<>(Comparator.comparingLong(Task::at).thenComparingLong(Task::sequence));
    private long nanos;
    private long sequence;
    private boolean disposed;

    public ManualScheduler(long originNanos) {
        nanos = originNanos;
    }

    @Override
    public synchronized long now(TimeUnit unit) {
        return unit.convert(nanos, TimeUnit.NANOSECONDS);
    }

    public synchronized void advance(long byNanos) {
        nanos += byNanos;
    }

    /** Runs what is due by now, and what that makes due. */
    public void runDue() {
        for (Task task = pollDue(); task != null; task = pollDue()) {
            task.action().run();
        }
    }

    private synchronized Task pollDue() {
        tasks.removeIf(task -> task.handle().isDisposed());
        return tasks.isEmpty() || tasks.peek().at() > nanos ? null : tasks.poll();
    }

    /** Tasks that are neither run nor disposed. */
    public synchronized int pending() {
        tasks.removeIf(task -> task.handle().isDisposed());
        return tasks.size();
    }

    /** Nanoseconds until the next task is due. */
    public synchronized long nextIn() {
        tasks.removeIf(task -> task.handle().isDisposed());
        return tasks.element().at() - nanos;
    }

    @Override
    public Disposable schedule(Runnable action) {
        return schedule(action, 0, TimeUnit.NANOSECONDS);
    }

    @Override
    public synchronized Disposable schedule(Runnable action, long delay, TimeUnit unit) {
        if (disposed) {
            throw new RejectedExecutionException("disposed");
        }
        Disposable handle = Disposables.single();
        tasks.add(new Task(nanos + unit.toNanos(delay), sequence++, action, handle));
        return handle;
    }

    /** Drops all tasks in silence, as Reactor's own schedulers do. */
    @Override
    public synchronized void dispose() {
        disposed = true;
        tasks.clear();
    }

    @Override
    public synchronized boolean isDisposed() {
        return disposed;
    }

    @Override
    public Worker createWorker() {
        throw new UnsupportedOperationException("no test needs a worker");
    }
}
