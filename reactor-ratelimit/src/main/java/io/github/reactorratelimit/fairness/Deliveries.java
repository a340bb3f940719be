package io.github.reactorratelimit.fairness;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import reactor.core.scheduler.Scheduler;

/**
 * Runs subscribers' code on a thread that grants nothing. There is a task for each answer, but a task delivers whatever is still to be
 * delivered: so one that stands behind a slow subscriber is delivered by another.
 */
final class Deliveries implements Runnable {

    private final Scheduler scheduler;
    private final Queue<FairCall> answered = new ConcurrentLinkedQueue<>();

    Deliveries(Scheduler scheduler) {
        this.scheduler = scheduler;
    }

    /** A scheduler that takes no more tasks cannot run the subscriber's code; then only this thread can. */
    void add(FairCall call) {
        answered.offer(call);
        try {
            scheduler.schedule(this);
        } catch (RejectedExecutionException gone) {
            run();
        }
    }

    /** For tasks that a disposed scheduler has dropped in silence. */
    void runIfSchedulerIsGone() {
        if (scheduler.isDisposed()) {
            run();
        }
    }

    @Override
    public void run() {
        for (FairCall call = answered.poll(); call != null; call = answered.poll()) {
            call.deliver();
        }
    }
}
