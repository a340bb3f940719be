package io.github.reactorratelimit.waiting;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import reactor.core.scheduler.Scheduler;

/**
 * Runs subscribers' code: nothing else of a limiter does. There is a task for each answer, but a task
 * delivers whatever is still to be delivered: so an answer whose task stands behind a slow subscriber
 * on a thread that they share is delivered by another.
 */
final class Deliveries implements Runnable {

    private final Scheduler scheduler;
    private final Queue<Waiter> answered = new ConcurrentLinkedQueue<>();

    Deliveries(Scheduler scheduler) {
        this.scheduler = scheduler;
    }

    /** A scheduler that takes no more tasks cannot run the subscriber's code; then only this thread can. */
    void add(Waiter waiter) {
        answered.offer(waiter);
        try {
            scheduler.schedule(this);
        } catch (RejectedExecutionException gone) {
            run();
        }
    }

    @Override
    public void run() {
        for (Waiter waiter = answered.poll(); waiter != null; waiter = answered.poll()) {
            waiter.run();
        }
    }
}
