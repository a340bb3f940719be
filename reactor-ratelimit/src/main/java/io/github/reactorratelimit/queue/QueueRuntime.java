package io.github.reactorratelimit.queue;

import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiterClosedException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/**
 * What the queues of one limiter share: the timer, the delivery of answers, the number of waiters, the end.
 *
 * <p>A user's scheduler that is disposed drops its tasks in silence, timers and deliveries alike. So while there are waiters, another
 * scheduler looks at it once a second. Reactor's shared schedulers live as long as the process.
 */
public final class QueueRuntime {

    private final String limiter;
    private final RateLimitRecorder recorder;
    private volatile Runnable signalAll = () -> {};
    private final Scheduler scheduler;
    private final QueueTimer timer;
    private final AnswerDispatcher dispatcher;

    /** Waiters that joined a queue and have neither received their answer nor cancelled. */
    private final AtomicInteger pending = new AtomicInteger();

    private final Scheduler watcher = Schedulers.parallel();
    private final boolean mayBeDisposed;
    private final AtomicBoolean watching = new AtomicBoolean();
    private final Sinks.Empty<Void> emptied = Sinks.empty();
    private volatile boolean closed;

    /**
     * @param limiter the name of the limiter, for errors
     * @param scheduler clock and timer
     * @param callbacks runs the code of subscribers
     */
    public QueueRuntime(String limiter, Scheduler scheduler, Scheduler callbacks, RateLimitRecorder recorder) {
        this.limiter = limiter;
        this.recorder = recorder;
        this.scheduler = scheduler;
        this.timer = new QueueTimer(scheduler, this::closeNow);
        this.dispatcher = new AnswerDispatcher(callbacks);
        this.mayBeDisposed =
                scheduler != watcher && scheduler != Schedulers.boundedElastic() && scheduler != Schedulers.single();
    }

    /** Signals all queues on close: then they fail their waiters. Before the first waiter joins. */
    public void onClose(Runnable signal) {
        signalAll = signal;
    }

    QueueTimer timer() {
        return timer;
    }

    AnswerDispatcher dispatcher() {
        return dispatcher;
    }

    RateLimitRecorder recorder() {
        return recorder;
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
        return new RateLimiterClosedException(limiter);
    }

    /** Fails all waiters, and completes when the last of them received its error. */
    public Mono<Void> close() {
        return Mono.defer(() -> {
            closeNow();
            return emptied.asMono();
        });
    }

    private void closeNow() {
        closed = true;
        signalAll.run();
        dispatchIfDisposed();
        completeIfEmptied();
    }

    /** Delivers what a disposed scheduler has dropped. */
    public void dispatchIfDisposed() {
        dispatcher.dispatchIfDisposed();
    }

    private void completeIfEmptied() {
        if (closed && pending.get() == 0) {
            emptied.tryEmitEmpty();
        }
    }
}
