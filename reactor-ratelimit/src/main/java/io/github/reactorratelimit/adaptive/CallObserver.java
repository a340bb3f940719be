package io.github.reactorratelimit.adaptive;

import io.github.reactorratelimit.queue.DrainLoop;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongConsumer;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Signal;
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

    /** The source with each subscription as a call; it is reported before its signal is passed on. */
    <T> Publisher<T> measured(Publisher<T> source) {
        if (source instanceof Mono<T> mono) {
            return Mono.defer(() -> {
                Call call = new Call(true);
                return mono.doOnEach(call::report).doOnCancel(call::end);
            });
        }
        return Flux.defer(() -> {
            Call call = new Call(false);
            return Flux.from(source).doOnEach(call::report).doOnCancel(call::end);
        });
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

    /**
     * Reports when a call was sent, when it came back and when it ended. A Mono comes back with its value or its
     * end. A Flux comes back with its first element, because the length of a stream is no latency, and again if
     * it fails later. A call that is cancelled before only ends.
     */
    private final class Call {

        /** Whether the first element ends the call. */
        private final boolean single;

        private final long startedNanos = started();

        /** The thread that sets it reports the end, once. */
        private final AtomicBoolean ended = new AtomicBoolean();

        private boolean cameBack;

        Call(boolean single) {
            this.single = single;
        }

        void report(Signal<?> signal) {
            boolean isFirst = !cameBack;
            cameBack = true;
            if (!ended.get() && (isFirst || signal.isOnError())) {
                cameBack(startedNanos, outcome(signal));
            }
            if (single || !signal.isOnNext()) {
                end();
            }
        }

        private CallOutcome outcome(Signal<?> signal) {
            if (signal.isOnError()) {
                return outcomes.ofFailure(Objects.requireNonNull(signal.getThrowable()), signal.getContextView());
            }
            return signal.isOnNext()
                    ? outcomes.ofValue(Objects.requireNonNull(signal.get()), signal.getContextView())
                    : CallOutcome.SUCCESS;
        }

        void end() {
            if (ended.compareAndSet(false, true)) {
                ended();
            }
        }
    }
}
