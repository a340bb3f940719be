package io.github.reactorratelimit.adaptive;

import java.util.OptionalLong;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongConsumer;
import reactor.core.Exceptions;
import reactor.core.publisher.Operators;
import reactor.core.scheduler.Scheduler;
import reactor.util.concurrent.Queues;
import reactor.util.context.Context;

/**
 * Brings what many threads see to a {@link Control}, which knows no threads. Who sees something puts it in line; whoever finds nobody at work carries
 * all that is there to the control, in the order of the line, and tells of a new limit. So the control is touched by one thread at a time, with
 * the counter of work in between, and limits are told in the order they were decided. Nobody waits: who finds somebody at work leaves, and its event is
 * taken along. An event may be stamped a little earlier than the one before it in line; time is not allowed to go back.
 */
final class Observer {

    /** What the control last said. */
    record Seen(long limit, long inFlight, OptionalLong baselineNanos, OptionalLong lastOverloadNanos) {}

    /** One thing that was seen; both times are the same where only one makes sense. */
    private record Event(Kind kind, long startedNanos, long atNanos, CallOutcome outcome) {
        private enum Kind {
            STARTED,
            CAME_BACK,
            GONE
        }
    }

    private final Scheduler clock;
    private final Outcomes outcomes;
    private final LongConsumer onLimit;
    private final Control control;
    private final Queue<Event> line = Queues.<Event>unboundedMultiproducer().get();
    private final AtomicInteger work = new AtomicInteger();
    private long latestNanos;
    private volatile Seen seen;

    /** @param onLimit told of each new limit, by one thread at a time */
    Observer(AdaptivePolicy policy, Outcomes outcomes, Scheduler clock, LongConsumer onLimit) {
        this.clock = clock;
        this.outcomes = outcomes;
        this.onLimit = onLimit;
        this.latestNanos = clock.now(TimeUnit.NANOSECONDS);
        this.control = new Control(policy, latestNanos);
        this.seen = see();
    }

    Outcomes outcomes() {
        return outcomes;
    }

    Seen seen() {
        return seen;
    }

    long nowNanos() {
        return clock.now(TimeUnit.NANOSECONDS);
    }

    /** A call is sent; yields the time to give back with what becomes of it. */
    long started() {
        long now = nowNanos();
        enqueue(new Event(Event.Kind.STARTED, now, now, CallOutcome.IGNORED));
        return now;
    }

    void cameBack(long startedNanos, CallOutcome outcome) {
        if (outcome != CallOutcome.IGNORED) {
            enqueue(new Event(Event.Kind.CAME_BACK, startedNanos, nowNanos(), outcome));
        }
    }

    void gone(long startedNanos) {
        enqueue(new Event(Event.Kind.GONE, startedNanos, startedNanos, CallOutcome.IGNORED));
    }

    private void enqueue(Event event) {
        line.offer(event);
        if (work.getAndIncrement() == 0) {
            carry();
        }
    }

    private void carry() {
        Throwable broken = null;
        int missed = 1;
        do {
            try {
                carryAll();
            } catch (Throwable thrown) {
                broken = broken == null ? thrown : Exceptions.addSuppressed(broken, thrown);
            }
            missed = work.addAndGet(-missed);
        } while (missed != 0);
        if (broken != null) {
            // Not before: with a count that stays nobody would carry anything any more.
            Operators.onErrorDropped(broken, Context.empty());
        }
    }

    private void carryAll() {
        long before = control.limit();
        for (Event event = line.poll(); event != null; event = line.poll()) {
            take(event);
        }
        seen = see();
        if (control.limit() != before) {
            onLimit.accept(control.limit());
        }
    }

    private void take(Event event) {
        switch (event.kind()) {
            case STARTED -> control.started();
            case GONE -> control.gone();
            case CAME_BACK -> {
                if (event.atNanos() - latestNanos > 0) {
                    latestNanos = event.atNanos();
                }
                control.cameBack(event.startedNanos(), latestNanos, event.outcome());
            }
        }
    }

    private Seen see() {
        return new Seen(control.limit(), control.inFlight(), control.baselineNanos(), control.lastOverloadNanos());
    }
}
