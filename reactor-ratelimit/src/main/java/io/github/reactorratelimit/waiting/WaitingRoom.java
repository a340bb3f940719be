package io.github.reactorratelimit.waiting;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiterClosedException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/**
 * Everyone who waits for permits of one limiter: counts them, tells them on the scheduler, and empties
 * when the limiter closes. How they stand in line is up to the subclass.
 *
 * <p>Nothing here runs a subscriber's code but {@link #signal}, which hands it to the scheduler: a
 * slow subscriber delays itself, not the line.
 */
abstract class WaitingRoom {

    private final LimiterSettings settings;
    private final LineTimer timer;

    /** Requests that stood in line and whose subscribers have not yet been told, or have not left. */
    private final AtomicInteger pending = new AtomicInteger();

    private final Sinks.Empty<Void> emptied = Sinks.empty();
    private volatile boolean closed;

    WaitingRoom(LimiterSettings settings) {
        this.settings = settings;
        this.timer = new LineTimer(settings.scheduler(), this::closeNow);
    }

    /** A request was demanded, on the subscriber's own thread: answer it at once or let it join a line. */
    abstract void ask(Waiter waiter);

    /** A request that may stand in line is not wanted any more. */
    abstract void leave(Waiter waiter);

    /** Gives back what was handed over but not used. */
    abstract void giveBack(Waiter waiter, Debit debit);

    /** Lets every line notice that the room has closed. */
    abstract void pokeAll();

    /** Requests in all lines; those already answered count until their subscribers were told. */
    public final int pending() {
        return pending.get();
    }

    public final boolean isClosed() {
        return closed;
    }

    /** Fails everyone who waits, and completes when the last of them was told. */
    public final Mono<Void> close() {
        return Mono.defer(() -> {
            closeNow();
            return emptied.asMono();
        });
    }

    private void closeNow() {
        closed = true;
        pokeAll();
        completeIfEmptied();
    }

    final RateLimiterClosedException closedException() {
        return new RateLimiterClosedException(settings.name());
    }

    final RateLimitRecorder recorder() {
        return settings.recorder();
    }

    final LineTimer timer() {
        return timer;
    }

    final int maxWaiters() {
        return settings.maxWaiters();
    }

    final void entered() {
        pending.incrementAndGet();
        recorder().waitStarted();
    }

    /** A scheduler that takes no more tasks cannot run the subscriber's code; then nobody else can. */
    final void signal(Waiter waiter) {
        try {
            settings.scheduler().schedule(waiter);
        } catch (RejectedExecutionException gone) {
            waiter.run();
        }
    }

    /** A request that stood in line has been told, or has left. */
    final void departed() {
        pending.decrementAndGet();
        completeIfEmptied();
    }

    private void completeIfEmptied() {
        if (closed && pending.get() == 0) {
            emptied.tryEmitEmpty();
        }
    }
}
