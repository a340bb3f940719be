package io.github.reactorratelimit.redis;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Scheduler;

/**
 * Brings answers to those who asked, on the scheduler for callbacks, many in one task: a task for each would cost more than the
 * answer. As many tasks are at work as there is work for, at most one for each processor.
 *
 * <p>A subscriber may take long, or even wait for what another one of the same call does. So what lies behind it must not wait
 * for it: while something is ready and nothing moves from one look of the watch to the next, one more task begins.
 *
 * <p>Nothing is left lying: {@code ready} is filled before {@code active} is read, and a task that found it empty counts itself
 * out of {@code active} before it looks once more. So of the one who fills and the one who leaves at least one sees the other.
 */
final class Deliveries {

    private static final int READY_FOR_ONE_TASK = 64;
    private static final long WATCH_MILLIS = 1;
    private static final int MAX_TASKS = Math.max(2, Runtime.getRuntime().availableProcessors());

    private final Scheduler callbacks;
    private final Scheduler timer;
    private final Queue<Runnable> ready = new ConcurrentLinkedQueue<>();

    /** About how many are ready. */
    private final AtomicInteger size = new AtomicInteger();

    /** Tasks that are at work or about to be. */
    private final AtomicInteger active = new AtomicInteger();

    private final AtomicBoolean watched = new AtomicBoolean();

    Deliveries(Scheduler callbacks, Scheduler timer) {
        this.callbacks = callbacks;
        this.timer = timer;
    }

    /** Something that is ready now; {@link #deliver} follows. */
    void add(Runnable delivery) {
        ready.offer(delivery);
    }

    /** What was added is delivered soon. */
    void deliver(int added) {
        int waiting = size.addAndGet(added);
        int running = active.get();
        while (running == 0 || mayHelp(running, waiting)) {
            if (active.compareAndSet(running, running + 1)) {
                start();
            }
            running = active.get();
        }
        watch();
    }

    private static boolean mayHelp(int running, int waiting) {
        return running < MAX_TASKS && waiting > running * READY_FOR_ONE_TASK;
    }

    private void start() {
        try {
            callbacks.schedule(this::work);
        } catch (RejectedExecutionException gone) {
            work();
        }
    }

    private void work() {
        do {
            for (Runnable next = ready.poll(); next != null; next = ready.poll()) {
                size.getAndDecrement();
                run(next);
            }
            active.decrementAndGet();
        } while (!ready.isEmpty() && active.compareAndSet(0, 1));
    }

    /** What a subscriber throws is no reason to keep the answers of others. */
    private static void run(Runnable delivery) {
        try {
            delivery.run();
        } catch (Throwable thrown) {
            Thread thread = Thread.currentThread();
            thread.getUncaughtExceptionHandler().uncaughtException(thread, thrown);
        }
    }

    private void watch() {
        if (!watched.get() && !ready.isEmpty() && watched.compareAndSet(false, true)) {
            look(ready.peek());
        }
    }

    private void look(@Nullable Runnable first) {
        try {
            timer.schedule(() -> looked(first), WATCH_MILLIS, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException noTimer) {
            watched.set(false);
        }
    }

    private void looked(@Nullable Runnable firstBefore) {
        Runnable first = ready.peek();
        if (first == null) {
            watched.set(false);
            watch();
            return;
        }
        if (first == firstBefore) {
            active.incrementAndGet();
            start();
        }
        look(first);
    }
}
