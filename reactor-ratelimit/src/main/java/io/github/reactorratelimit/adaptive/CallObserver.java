package io.github.reactorratelimit.adaptive;

import io.github.reactorratelimit.queue.DrainLoop;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import reactor.core.scheduler.Scheduler;
import reactor.util.concurrent.Queues;

/**
 * Brings the events of many threads to a {@link LimitController}, which knows no threads. A thread puts its
 * event into the mailbox; the thread that finds the loop idle gives all of them to the controller, in their
 * order, and applies a new limit. So one thread at a time touches the controller, limits are applied in the
 * order of their decisions, and no thread waits. An event may carry a time a little before that of the event
 * ahead of it: time never goes back here.
 */
final class CallObserver extends DrainLoop {

    /** The controller's numbers after the last event. */
    record Snapshot(long limit, long inFlight, OptionalLong baselineNanos, OptionalLong lastOverloadNanos) {}

    private final Scheduler clock;
    private final OutcomeClassifier outcomes;
    private final LongConsumer onLimit;
    private final LimitController controller;
    private final Queue<Runnable> events =
            Queues.<Runnable>unboundedMultiproducer().get();
    private long latestNanos;
    private volatile Snapshot snapshot;

    /** @param onLimit accepts each new limit, on one thread at a time */
    CallObserver(AdaptivePolicy policy, OutcomeClassifier outcomes, Scheduler clock, LongConsumer onLimit) {
        this.clock = clock;
        this.outcomes = outcomes;
        this.onLimit = onLimit;
        this.latestNanos = clock.now(TimeUnit.NANOSECONDS);
        this.controller = new LimitController(policy, latestNanos);
        this.snapshot = takeSnapshot();
    }

    OutcomeClassifier outcomes() {
        return outcomes;
    }

    Snapshot snapshot() {
        return snapshot;
    }

    long nowNanos() {
        return clock.now(TimeUnit.NANOSECONDS);
    }

    /** A call is sent; yields the time to pass on when it comes back. */
    long started() {
        enqueue(controller::started);
        return nowNanos();
    }

    void cameBack(long startedNanos, CallOutcome outcome) {
        if (outcome != CallOutcome.IGNORED) {
            long atNanos = nowNanos();
            enqueue(() -> {
                latestNanos = atNanos - latestNanos > 0 ? atNanos : latestNanos;
                controller.cameBack(startedNanos, latestNanos, outcome);
            });
        }
    }

    /** A call ended, or was cancelled. */
    void ended() {
        enqueue(controller::ended);
    }

    private void enqueue(Runnable event) {
        events.offer(event);
        signal();
    }

    @Override
    protected void drain() {
        long before = controller.limit();
        for (Runnable event = events.poll(); event != null; event = events.poll()) {
            event.run();
        }
        snapshot = takeSnapshot();
        if (controller.limit() != before) {
            onLimit.accept(controller.limit());
        }
    }

    private Snapshot takeSnapshot() {
        return new Snapshot(
                controller.limit(), controller.inFlight(), controller.baselineNanos(), controller.lastOverloadNanos());
    }
}
