package io.github.reactorratelimit.redis;

import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/**
 * Ends calls whose answer does not come in time. All have the same deadline, so they end in the order in which they
 * began, and one pending task watches the first of them: a call that is answered costs no timer, and nobody waits
 * for the lock of the scheduler's queue to take one out again.
 */
final class Deadlines {

    /** What is ended if it is not over in time. */
    interface Watched {

        boolean isOver();

        /** Does nothing if it is over. */
        void fail(Throwable error);
    }

    private record Call(Watched reply, long endsAtNanos) {}

    private final Scheduler clock;
    private final Duration deadline;
    private final Runnable missed;
    private final Queue<Call> calls = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean watching = new AtomicBoolean();

    /** Calls that ever began; counted after they can be seen in the queue. */
    private final AtomicLong begun = new AtomicLong();

    Deadlines(Scheduler clock, Duration deadline) {
        this(clock, deadline, () -> {});
    }

    /** @param missed runs after calls were ended */
    Deadlines(Scheduler clock, Duration deadline, Runnable missed) {
        this.clock = clock;
        this.deadline = deadline;
        this.missed = missed;
    }

    <T> Mono<T> within(Mono<T> call) {
        return MonoOnce.racing(call, this::begin);
    }

    long nanos() {
        return deadline.toNanos();
    }

    void begin(Watched reply) {
        calls.offer(new Call(reply, now() + deadline.toNanos()));
        begun.incrementAndGet();
        removeAnswered();
        watch(deadline.toNanos());
    }

    long begun() {
        return begun.get();
    }

    /** Whether nothing is under way of what began before. */
    boolean isQuiet() {
        removeAnswered();
        return calls.isEmpty();
    }

    private long now() {
        return clock.now(TimeUnit.NANOSECONDS);
    }

    private void removeAnswered() {
        for (Call first = calls.peek(); first != null && first.reply.isOver(); first = calls.peek()) {
            calls.remove(first);
        }
    }

    private void watch(long nanos) {
        if (watching.compareAndSet(false, true)) {
            try {
                clock.schedule(this::look, nanos, TimeUnit.NANOSECONDS);
            } catch (RejectedExecutionException gone) {
                Schedulers.parallel().schedule(this::look, nanos, TimeUnit.NANOSECONDS);
            }
        }
    }

    private void look() {
        watching.set(false);
        long now = now();
        boolean isMissed = false;
        Call first = calls.peek();
        while (first != null && (first.reply.isOver() || first.endsAtNanos <= now)) {
            if (calls.remove(first)) {
                isMissed |= !first.reply.isOver();
                first.reply.fail(RedisUnavailableException.unanswered("no answer from Redis within " + deadline, null));
            }
            first = calls.peek();
        }
        if (first != null) {
            watch(first.endsAtNanos - now);
        }
        if (isMissed) {
            missed.run();
        }
    }
}
