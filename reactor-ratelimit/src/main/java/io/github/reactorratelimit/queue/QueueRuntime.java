package io.github.reactorratelimit.queue;

import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiterClosedException;
import java.util.concurrent.atomic.AtomicInteger;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Scheduler;

/** What the queues of one limiter share: the timer, the delivery of answers, the number of waiters, the end. */
public final class QueueRuntime {

    private final String limiter;
    private final RateLimitRecorder recorder;
    private volatile Runnable signalAll = () -> {};
    private final QueueTimer timer;
    private final AnswerDispatcher dispatcher;
    private final DisposalWatch watch;

    /** Waiters that joined a queue and have neither received their answer nor cancelled. */
    private final AtomicInteger pending = new AtomicInteger();

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
        this.timer = new QueueTimer(scheduler, this::closeNow);
        this.dispatcher = new AnswerDispatcher(callbacks);
        this.watch = new DisposalWatch(scheduler, () -> pending.get() > 0 && !closed, this::closeNow);
    }

    /** Signals all queues on close: then they fail their waiters. Before the first waiter joins. */
    public void onClose(Runnable signal) {
        signalAll = signal;
    }

    QueueTimer timer() {
        return timer;
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
        if (pending.getAndIncrement() == 0) {
            watch.update();
        }
    }

    /** A waiter received its answer, or cancelled. */
    public void departed() {
        if (pending.decrementAndGet() == 0) {
            watch.update();
        }
        completeIfEmptied();
    }

    /** Delivers an answer on another thread, when {@link #dispatch} is called. */
    void deliver(Runnable answer) {
        dispatcher.add(answer);
    }

    void dispatch() {
        dispatcher.dispatch();
    }

    public boolean isClosed() {
        return closed;
    }

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

    /** Delivers what disposed schedulers have dropped. */
    public void dispatchIfDisposed() {
        dispatcher.dispatchIfDisposed();
    }

    private void completeIfEmptied() {
        if (closed && pending.get() == 0) {
            emptied.tryEmitEmpty();
        }
    }
}
