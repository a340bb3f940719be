package io.github.reactorratelimit.redis;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
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

    /** So many replies at most wait for a flush. */
    private static final int FLUSH_EVERY = 256;

    private static final int MAX_TASKS = Runtime.getRuntime().availableProcessors();

    private final Executor callbacks;
    private final Scheduler timer;
    private final Runnable work = this::work;
    private final Queue<Runnable> ready = new ConcurrentLinkedQueue<>();

    /** Tasks that deliver or are about to. */
    private final AtomicInteger active = new AtomicInteger();

    /** Of these, tasks that have not begun: while there is one, another would only wait behind it. */
    private final AtomicInteger starting = new AtomicInteger();

    /** Of the tasks that deliver several replies. */
    private final Set<DeferredFlush> flushes = ConcurrentHashMap.newKeySet();

    private final AtomicBoolean watched = new AtomicBoolean();

    ReplyExecutor(Scheduler callbacks, Scheduler timer) {
        this.callbacks = callbacks::schedule;
        this.timer = timer;
    }

    /** Delivers what a command ended with, on its executor. */
    static void deliver(PendingCommand command) {
        Executor executor = command.executor;
        if (executor == null || !takes(executor, command)) {
            run(command);
        }
    }

    /**
     * Delivers to those that want it on this thread; then runs what follows, together with what they send.
     */
    static void deliverHere(List<PendingCommand> ended, Runnable then) {
        new DeferredFlush().during(() -> {
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
        Executor first = null;
        List<PendingCommand> ofFirst = new ArrayList<>(ended.size());
        Map<Executor, List<PendingCommand>> others = null;
        for (PendingCommand command : ended) {
            Executor executor = command.executor;
            if (executor == null) {
                continue;
            }
            first = first == null ? executor : first;
            if (executor == first) {
                ofFirst.add(command);
            } else {
                others = others == null ? new IdentityHashMap<>() : others;
                others.computeIfAbsent(executor, other -> new ArrayList<>()).add(command);
            }
        }
        if (first != null) {
            deliver(first, ofFirst);
        }
        if (others != null) {
            others.forEach(ReplyExecutor::deliver);
        }
    }

    private static void deliver(Executor executor, List<PendingCommand> commands) {
        if (executor instanceof ReplyExecutor callbacks) {
            callbacks.deliverAll(commands);
        } else if (!takes(executor, () -> deliverTogether(commands))) {
            commands.forEach(ReplyExecutor::run);
        }
    }

    private static void deliverTogether(List<PendingCommand> commands) {
        if (commands.size() == 1) {
            run(commands.get(0));
        } else {
            new DeferredFlush().during(() -> commands.forEach(ReplyExecutor::run));
        }
    }

    /** What a subscriber throws is no reason to keep the replies of others. */
    private static void run(Runnable delivery) {
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
    static boolean takes(Executor executor, Runnable task) {
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

    private void deliverAll(List<PendingCommand> commands) {
        ready.addAll(commands);
        start();
    }

    private void start() {
        if (active.compareAndSet(0, 1)) {
            schedule();
        } else {
            watch(ready.peek());
        }
    }

    private void schedule() {
        starting.incrementAndGet();
        if (!takes(callbacks, work)) {
            work();
        }
    }

    private void work() {
        starting.decrementAndGet();
        do {
            Runnable first = ready.poll();
            if (first != null && ready.isEmpty()) {
                run(first);
            } else if (first != null) {
                workOff(first);
            }
            // A reply that came meanwhile found this task active, or is seen here.
        } while (active.decrementAndGet() == 0 && !ready.isEmpty() && active.compareAndSet(0, 1));
    }

    private void workOff(Runnable first) {
        DeferredFlush flush = new DeferredFlush();
        flushes.add(flush);
        watch(first);
        try {
            flush.during(() -> {
                int delivered = 0;
                for (Runnable next = first; next != null; next = ready.poll()) {
                    run(next);
                    if (++delivered % FLUSH_EVERY == 0) {
                        flush.flush();
                    }
                }
            });
        } finally {
            flushes.remove(flush);
        }
    }

    private void watch(@Nullable Runnable first) {
        if (!watched.get() && watched.compareAndSet(false, true)) {
            try {
                timer.schedule(() -> look(first), WATCH_MILLIS, TimeUnit.MILLISECONDS);
            } catch (RejectedExecutionException noTimer) {
                watched.set(false);
            }
        }
    }

    /**
     * If replies still wait after a while, another task helps: without limit if the same one is first,
     * because all tasks are stuck.
     */
    private void look(@Nullable Runnable firstBefore) {
        watched.set(false);
        flushes.forEach(DeferredFlush::flush);
        Runnable first = ready.peek();
        if (first == null && flushes.isEmpty()) {
            return;
        }
        int tasks = active.get();
        boolean isLate = first != null && tasks > 0 && (first == firstBefore || tasks < MAX_TASKS);
        if (isLate && starting.get() == 0 && active.compareAndSet(tasks, tasks + 1)) {
            help();
        }
        watch(first);
    }

    /** Never on the timer's thread: if the scheduler takes no task, the next look tries again. */
    private void help() {
        starting.incrementAndGet();
        if (!takes(callbacks, work)) {
            starting.decrementAndGet();
            if (active.decrementAndGet() == 0 && !ready.isEmpty()) {
                start();
            }
        }
    }
}
