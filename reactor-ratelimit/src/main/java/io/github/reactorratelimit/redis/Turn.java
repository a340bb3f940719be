package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.CallerThread;
import io.github.reactorratelimit.queue.DrainLoop;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import reactor.core.scheduler.Scheduler;

/**
 * Lets what a thread asks in one turn, as for all requests that an event loop found on its sockets, travel together: the pipe is poked
 * by a task of that thread, which begins when the turn ends. One turn at a time, whosever it is, pokes for all: who asks
 * meanwhile on another thread travels with it. Where nothing else is to be done the task begins at once, so nobody waits for company.
 *
 * <p>No ask is left lying: it is in the pipe before its thread looks at {@code begun}, and {@code begun} ends before the pipe is poked. So whoever finds
 * a turn begun is seen by its poke.
 *
 * <p>A thread may be kept in its turn, or forget its tasks; others must not wait for that. So there is a watch while there are turns, which ends
 * one that it has seen before. A thread that refuses the task is not waited for at all. A turn that was ended so is over before its task
 * begins: then the task may end the next one a little early, which costs company and nothing else.
 */
final class Turn {

    private static final long WATCH_MILLIS = 4;

    private final DrainLoop pipe;
    private final Scheduler timer;
    private final AtomicBoolean begun = new AtomicBoolean();
    private final AtomicBoolean watched = new AtomicBoolean();

    /** Turns that ever began. */
    private final AtomicLong count = new AtomicLong();

    private final Runnable end = this::end;

    Turn(DrainLoop pipe, Scheduler timer) {
        this.pipe = pipe;
        this.timer = timer;
    }

    /** Whether the pipe is poked when the turn ends that the thread is in, or another one that began before; else the caller has to. */
    boolean pokesLater(CallerThread thread) {
        if (begun.get() || !begun.compareAndSet(false, true)) {
            return true;
        }
        count.incrementAndGet();
        if (!Strays.takes(thread, end)) {
            begun.set(false);
            return false;
        }
        watch();
        return true;
    }

    private void end() {
        if (begun.getAndSet(false)) {
            pipe.signal();
        }
    }

    /** Whoever begins a turn and finds the watch set is seen by it, as it is taken off before it looks whether there is a turn. */
    private void watch() {
        if (!watched.get() && watched.compareAndSet(false, true)) {
            long seen = count.get();
            try {
                timer.schedule(() -> look(seen), WATCH_MILLIS, TimeUnit.MILLISECONDS);
            } catch (RejectedExecutionException noTimer) {
                watched.set(false);
            }
        }
    }

    private void look(long seenBefore) {
        watched.set(false);
        if (count.get() == seenBefore) {
            end();
        }
        if (begun.get()) {
            watch();
        }
    }
}
