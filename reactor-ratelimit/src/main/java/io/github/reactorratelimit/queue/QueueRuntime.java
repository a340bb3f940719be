package io.github.reactorratelimit.queue;

import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiterClosedException;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;
import reactor.util.context.Context;

/**
 * What the queues of one limiter share: the delivery of answers, the number of waiters, the end.
 *
 * <p>It runs the code of subscribers; nothing else in a limiter does. One task delivers all answers that are left. Before it runs the
 * code of a subscriber it schedules another task, if answers are left and no task is about to start: so a slow subscriber
 * delays only itself.
 *
 * <p>A user's scheduler that is disposed drops its tasks in silence, timers and deliveries alike. So while there are waiters, another
 * scheduler looks at it once a second. Reactor's shared schedulers live as long as the process.
 */
public final class QueueRuntime implements Runnable {

    /** Clock and timer. */
    final Scheduler scheduler;

    final RateLimitRecorder recorder;
    final int maxWaiters;
    private final Scheduler callbacks;
    private final String name;
    private final Map<String, ? extends DrainLoop> queues;
    private final Queue<Runnable> answers = new ConcurrentLinkedQueue<>();

    /** 1 if a task to deliver answers was scheduled and has not started. */
    private final AtomicInteger unstarted = new AtomicInteger();

    /** The thread that schedules another task while it delivers answers. */
    private volatile @Nullable Thread scheduling;

    /** Waiters that joined a queue and have neither received their answer nor cancelled. */
    private final AtomicInteger pending = new AtomicInteger();

    private final Scheduler watcher = Schedulers.parallel();
    private final boolean mayBeDisposed;
    private final AtomicBoolean watching = new AtomicBoolean();
    private final Sinks.Empty<Void> emptied = Sinks.empty();
    private volatile boolean closed;

    /** @param queues the queues of keys with waiters */
    QueueRuntime(LimiterSettings settings, Map<String, ? extends DrainLoop> queues) {
        this.scheduler = settings.scheduler();
        this.recorder = settings.recorder();
        this.maxWaiters = settings.maxWaiters();
        this.callbacks = settings.callbacks();
        this.name = settings.name();
        this.queues = queues;
        this.mayBeDisposed =
                scheduler != watcher && scheduler != Schedulers.boundedElastic() && scheduler != Schedulers.single();
    }

    /** The queue of the key accepts no waiter any more. */
    void retired(String key, DrainLoop queue) {
        queues.remove(key, queue);
    }

    /** Adds an answer; {@link #dispatch} follows. */
    void add(Runnable answer) {
        answers.offer(answer);
    }

    /** Delivers the answers that were added, on other threads; on this one if the scheduler accepts no task, or dropped one in silence. */
    public void dispatch() {
        if (callbacks.isDisposed()) {
            deliverHere();
        } else if (!answers.isEmpty() && unstarted.compareAndSet(0, 1)) {
            try {
                callbacks.schedule(this);
            } catch (RejectedExecutionException refused) {
                unstarted.set(0);
                deliverHere();
            }
        }
    }

    private void deliverHere() {
        for (Runnable answer = answers.poll(); answer != null; answer = answers.poll()) {
            try {
                answer.run();
            } catch (Throwable broken) {
                Operators.onErrorDropped(broken, Context.empty());
            }
        }
    }

    /** The task. A subscriber that throws ends it; the task that was scheduled before delivers the answers that are left. */
    @Override
    public void run() {
        unstarted.set(0);
        if (scheduling == Thread.currentThread()) {
            // A scheduler that runs tasks at once: the task that schedules this one goes on when it returns.
            return;
        }
        for (Runnable answer = answers.poll(); answer != null; answer = answers.poll()) {
            if (!answers.isEmpty() && unstarted.get() == 0) {
                scheduling = Thread.currentThread();
                dispatch();
                scheduling = null;
            }
            answer.run();
        }
    }

    /** Waiters that joined a queue and have neither received their answer nor cancelled. */
    public int pending() {
        return pending.get();
    }

    /** One more waiter is pending. */
    public void joined() {
        pending.incrementAndGet();
        watch();
    }

    /** A waiter received its answer, or cancelled. */
    public void departed() {
        pending.decrementAndGet();
        completeIfEmptied();
    }

    /** Once {@link #look} finds no waiter it stops, and the next waiter starts it again. */
    private void watch() {
        if (mayBeDisposed && !watching.get() && watching.compareAndSet(false, true)) {
            watcher.schedule(this::look, 1, TimeUnit.SECONDS);
        }
    }

    private void look() {
        watching.set(false);
        if (pending.get() > 0 && scheduler.isDisposed()) {
            closeNow();
        } else if (pending.get() > 0) {
            watch();
        }
    }

    /** Whether it was closed, or had to close itself because the scheduler was disposed. */
    public boolean isClosed() {
        return closed;
    }

    /** The error of waiters when the limiter closes. */
    public RateLimiterClosedException closedException() {
        return new RateLimiterClosedException(name);
    }

    /** Fails all waiters, and completes when the last of them received its error. */
    public Mono<Void> close() {
        return Mono.defer(() -> {
            closeNow();
            return emptied.asMono();
        });
    }

    void closeNow() {
        closed = true;
        // When they see that it is closed they fail their waiters.
        queues.values().forEach(DrainLoop::signal);
        dispatch();
        completeIfEmptied();
    }

    private void completeIfEmptied() {
        if (closed && pending.get() == 0) {
            emptied.tryEmitEmpty();
        }
    }
}
