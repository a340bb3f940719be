package io.github.reactorratelimit.queue;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/**
 * Runs the code of subscribers; nothing else in a limiter does. A task delivers every answer that is still to be delivered, so a few
 * tasks serve a batch of any size. A slow subscriber delays only itself: a task that starts while answers without a task
 * remain schedules another one first, so that on a scheduler with a free thread some task can always start.
 */
final class AnswerDispatcher implements Runnable {

    /** Enough to meet every thread of Reactor's parallel scheduler, of which some may be busy. */
    private static final int MOST_TASKS = Schedulers.DEFAULT_POOL_SIZE;

    private final Scheduler scheduler;
    private final Queue<Runnable> answers = new ConcurrentLinkedQueue<>();

    /** Answers for which no task was scheduled yet. */
    private final AtomicInteger added = new AtomicInteger();

    /** Answers of large batches for which no task was scheduled. */
    private final AtomicInteger withoutTask = new AtomicInteger();

    /** The thread that schedules another task just now: a scheduler that runs it at once, on that thread, is not needed. */
    private volatile @Nullable Thread scheduling;

    AnswerDispatcher(Scheduler scheduler) {
        this.scheduler = scheduler;
    }

    /** Adds an answer; {@link #dispatch} follows. */
    void add(Runnable answer) {
        answers.offer(answer);
        added.incrementAndGet();
    }

    /** Delivers the answers that were added, on other threads. */
    void dispatch() {
        int answers = added.get() == 0 ? 0 : added.getAndSet(0);
        if (answers > MOST_TASKS) {
            withoutTask.addAndGet(answers - MOST_TASKS);
        }
        for (int tasks = Math.min(answers, MOST_TASKS); tasks > 0; tasks--) {
            schedule();
        }
    }

    /** If the scheduler takes no more tasks, only this thread can run the subscriber's code. */
    private void schedule() {
        try {
            scheduler.schedule(this);
        } catch (RejectedExecutionException gone) {
            deliverAll();
        }
    }

    /** Delivers what a disposed scheduler has dropped in silence. */
    void dispatchIfDisposed() {
        if (scheduler.isDisposed()) {
            deliverAll();
        }
    }

    @Override
    public void run() {
        if (scheduling == Thread.currentThread()) {
            return;
        }
        Runnable first = answers.poll();
        if (first != null) {
            if (isTaskMissing()) {
                scheduling = Thread.currentThread();
                schedule();
                scheduling = null;
            }
            deliverFrom(first);
        }
    }

    /** Whether answers were added that have no task of their own yet; then one of them gets it now. */
    private boolean isTaskMissing() {
        return withoutTask.get() > 0 && withoutTask.getAndUpdate(left -> Math.max(0, left - 1)) > 0;
    }

    private void deliverAll() {
        Runnable first = answers.poll();
        if (first != null) {
            deliverFrom(first);
        }
    }

    /** A subscriber that throws ends this task, not the delivery to others. */
    private void deliverFrom(Runnable first) {
        Runnable answer = first;
        try {
            while (answer != null) {
                answer.run();
                answer = answers.poll();
                if (answer != null) {
                    // It needs no task any more.
                    isTaskMissing();
                }
            }
        } finally {
            if (answer != null && !answers.isEmpty()) {
                schedule();
            }
        }
    }
}
