package io.github.reactorratelimit.queue;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import reactor.core.publisher.Operators;
import reactor.core.scheduler.Scheduler;
import reactor.util.context.Context;

/**
 * Runs the code of subscribers; nothing else in a limiter does. There is a task for each answer, and a task delivers every answer that is
 * left. So a slow subscriber delays only itself: the tasks behind its own deliver the other answers.
 */
public final class AnswerDispatcher implements Runnable {

    private final Scheduler scheduler;
    private final Queue<Runnable> answers = new ConcurrentLinkedQueue<>();

    /** Answers without a task. */
    private final AtomicInteger added = new AtomicInteger();

    /** @param scheduler runs the code of subscribers */
    public AnswerDispatcher(Scheduler scheduler) {
        this.scheduler = scheduler;
    }

    /** Adds an answer; {@link #dispatch} follows. */
    public void add(Runnable answer) {
        answers.offer(answer);
        added.incrementAndGet();
    }

    /** Delivers the answers that were added, on other threads. If the scheduler accepts no task, this thread delivers. */
    public void dispatch() {
        for (int tasks = added.get() == 0 ? 0 : added.getAndSet(0); tasks > 0; tasks--) {
            try {
                scheduler.schedule(this);
            } catch (RejectedExecutionException disposed) {
                deliverHere();
            }
        }
    }

    /** Delivers what a disposed scheduler has dropped in silence. */
    public void dispatchIfDisposed() {
        if (scheduler.isDisposed()) {
            deliverHere();
        }
    }

    private void deliverHere() {
        while (!answers.isEmpty()) {
            try {
                run();
            } catch (Throwable broken) {
                Operators.onErrorDropped(broken, Context.empty());
            }
        }
    }

    /** A subscriber that throws ends this task; the tasks of the other answers remain. */
    @Override
    public void run() {
        for (Runnable answer = answers.poll(); answer != null; answer = answers.poll()) {
            answer.run();
        }
    }
}
