package io.github.reactorratelimit.redis;

import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/**
 * Ends the commands of a limiter whose reply does not come in time, counted from the moment they were
 * requested. All have the same deadline, so they expire in the order in which they began, and one pending
 * task watches the first of them.
 */
final class Deadlines {

    private final Scheduler clock;
    private final Duration deadline;
    private final Runnable missed;
    private final Queue<PendingCommand> commands = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean watching = new AtomicBoolean();

    /** @param missed runs after commands expired */
    Deadlines(Scheduler clock, Duration deadline, Runnable missed) {
        this.clock = clock;
        this.deadline = deadline;
        this.missed = missed;
    }

    void begin(PendingCommand command) {
        command.deadlineNanos = now() + deadline.toNanos();
        commands.offer(command);
        removeEnded();
        watch(deadline.toNanos());
    }

    private long now() {
        return clock.now(TimeUnit.NANOSECONDS);
    }

    private void removeEnded() {
        for (PendingCommand first = commands.peek(); first != null && first.isEnded(); first = commands.peek()) {
            commands.remove(first);
        }
    }

    /** If the limiter's scheduler was disposed, commands that settle what is open still expire. */
    private void watch(long nanos) {
        if (!watching.get() && watching.compareAndSet(false, true)) {
            try {
                clock.schedule(this::look, nanos, TimeUnit.NANOSECONDS);
            } catch (RejectedExecutionException gone) {
                Schedulers.parallel().schedule(this::look, nanos, TimeUnit.NANOSECONDS);
            }
        }
    }

    /** All that is overdue expires before the keys that become idle send the next call. */
    private void look() {
        watching.set(false);
        ReplyExecutor.deferringFlush(this::expireOverdue);
    }

    private void expireOverdue() {
        long now = now();
        boolean isMissed = false;
        RedisUnavailableException unsent =
                new RedisUnavailableException("no call to Redis was free within " + deadline);
        PendingCommand first = commands.peek();
        while (first != null && (first.isEnded() || first.deadlineNanos - now <= 0)) {
            if (commands.remove(first) && !first.isEnded()) {
                isMissed = true;
                first.expire(unsent);
            }
            first = commands.peek();
        }
        if (first != null) {
            watch(first.deadlineNanos - now);
        }
        if (isMissed) {
            missed.run();
        }
    }
}
