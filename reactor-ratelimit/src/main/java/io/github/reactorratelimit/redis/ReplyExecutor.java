package io.github.reactorratelimit.redis;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Scheduler;

/**
 * Delivers replies to subscribers on a limiter's scheduler for callbacks. One task delivers what is ready;
 * while it takes long, others help, so a slow subscriber delays only itself.
 */
final class ReplyExecutor implements Executor {

    /** How often to check whether a subscriber delays the others. */
    private static final long WATCH_MILLIS = 1;

    private static final int MAX_TASKS = Runtime.getRuntime().availableProcessors();

    /** So many commands at most wait for a deferred flush. */
    private static final int FLUSH_EVERY = 256;

    /** The delivery that this thread runs. */
    private static final ThreadLocal<@Nullable Delivery> CURRENT = new ThreadLocal<>();

    private final Executor callbacks;
    private final Scheduler timer;
    private final Runnable work = this::work;
    private final Queue<Runnable> ready = new ConcurrentLinkedQueue<>();

    /** Tasks that deliver or are about to. */
    private final AtomicInteger active = new AtomicInteger();

    /** Of these, tasks that have not begun: while there is one, another would only wait behind it. */
    private final AtomicInteger starting = new AtomicInteger();

    private final AtomicBoolean watched = new AtomicBoolean();

    /** A delivery, and the queue whose flush it defers. */
    private static final class Delivery {

        private @Nullable CommandQueue held;
        private int deferred;
    }

    ReplyExecutor(Scheduler callbacks, Scheduler timer) {
        this.callbacks = callbacks::schedule;
        this.timer = timer;
    }

    /** Delivers what a command ended with, on its executor. */
    static void deliver(PendingCommand command) {
        deliver(command.executor, command);
    }

    /** Delivers on an executor; on this thread if that is null, or takes no tasks. */
    static void deliver(@Nullable Executor executor, Runnable delivery) {
        if (executor == null || !takes(executor, delivery)) {
            run(delivery);
        }
    }

    /**
     * Delivers to those that want it on this thread; then runs what follows, together with what they send.
     */
    static void deliverHere(List<PendingCommand> ended, Runnable then) {
        deferringFlush(() -> {
            for (PendingCommand command : ended) {
                if (command.executor == null) {
                    run(command);
                }
            }
            then.run();
        });
    }

    /** Delivers to the others: to each executor all that is for it, in one task. */
    static void deliverElsewhere(List<PendingCommand> ended) {
        IdentityHashMap<Executor, List<PendingCommand>> byExecutor = new IdentityHashMap<>(2);
        for (PendingCommand command : ended) {
            if (command.executor != null) {
                byExecutor
                        .computeIfAbsent(command.executor, one -> new ArrayList<>())
                        .add(command);
            }
        }
        byExecutor.forEach(ReplyExecutor::deliver);
    }

    /**
     * Runs a delivery. The commands that it triggers share one call: their queue is flushed when the delivery
     * ends. If that takes long, the queue flushes itself.
     */
    static void deferringFlush(Runnable delivery) {
        Delivery outer = CURRENT.get();
        Delivery current = new Delivery();
        CURRENT.set(current);
        try {
            delivery.run();
        } finally {
            CURRENT.set(outer);
            if (current.held != null) {
                current.held.signal();
            }
        }
    }

    /** Whether the queue is flushed later, because this thread delivers replies; one queue at a time is. */
    static boolean defersFlush(CommandQueue queue) {
        Delivery current = CURRENT.get();
        if (current == null || (current.held != null && current.held != queue)) {
            return false;
        }
        current.held = queue;
        return ++current.deferred % FLUSH_EVERY != 0;
    }

    private static void deliver(Executor executor, List<PendingCommand> commands) {
        if (executor instanceof ReplyExecutor callbacks) {
            callbacks.ready.addAll(commands);
            callbacks.start();
        } else {
            deliver(executor, () -> deferringFlush(() -> commands.forEach(ReplyExecutor::run)));
        }
    }

    /** What a subscriber or a logger throws is no reason to keep the replies of others. */
    static void run(Runnable delivery) {
        try {
            delivery.run();
        } catch (Throwable thrown) {
            tell(thrown);
        }
    }

    /**
     * Whether an executor took the task. If it fails in any way, it did not: a task that counts as taken but never
     * runs would leave the replies behind it undelivered.
     */
    private static boolean takes(Executor executor, Runnable task) {
        try {
            executor.execute(task);
            return true;
        } catch (RejectedExecutionException fullOrGone) {
            return false;
        } catch (Throwable broken) {
            tell(broken);
            return false;
        }
    }

    /** Tells the thread's handler for uncaught exceptions, and the thread goes on. */
    private static void tell(Throwable thrown) {
        Thread thread = Thread.currentThread();
        thread.getUncaughtExceptionHandler().uncaughtException(thread, thrown);
    }

    @Override
    public void execute(Runnable task) {
        ready.offer(task);
        start();
    }

    private void start() {
        if (!active.compareAndSet(0, 1)) {
            watch(ready.peek());
        } else if (!schedules()) {
            work();
        }
    }

    private boolean schedules() {
        starting.incrementAndGet();
        return takes(callbacks, work);
    }

    private void work() {
        starting.decrementAndGet();
        do {
            deliverReady();
            // A reply that came meanwhile found this task active, or is seen here.
        } while (active.decrementAndGet() == 0 && !ready.isEmpty() && active.compareAndSet(0, 1));
    }

    private void deliverReady() {
        Runnable first = ready.poll();
        if (first == null) {
            return;
        }
        Runnable second = ready.peek();
        if (second == null) {
            run(first);
            return;
        }
        watch(second);
        deferringFlush(() -> {
            for (Runnable next = first; next != null; next = ready.poll()) {
                run(next);
            }
        });
    }

    private void watch(@Nullable Runnable first) {
        if (first != null && !watched.get() && watched.compareAndSet(false, true)) {
            try {
                timer.schedule(() -> look(first), WATCH_MILLIS, TimeUnit.MILLISECONDS);
            } catch (RejectedExecutionException noTimer) {
                watched.set(false);
            }
        }
    }

    /**
     * If replies still wait after a while, another task helps: without limit if the same one is first,
     * because all tasks are stuck. It never runs on the timer's thread: if the scheduler takes no task, the
     * next look tries again.
     */
    private void look(Runnable firstBefore) {
        watched.set(false);
        Runnable first = ready.peek();
        int tasks = active.get();
        boolean isLate = first != null && tasks > 0 && (first == firstBefore || tasks < MAX_TASKS);
        if (isLate && starting.get() == 0 && active.compareAndSet(tasks, tasks + 1) && !schedules()) {
            starting.decrementAndGet();
            if (active.decrementAndGet() == 0 && !ready.isEmpty()) {
                start();
            }
        }
        watch(ready.peek());
    }
}
