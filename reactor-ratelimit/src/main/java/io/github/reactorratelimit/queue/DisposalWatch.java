package io.github.reactorratelimit.queue;

import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/**
 * Notices that a user's scheduler was disposed while there are waiters. Such a scheduler drops its tasks in silence, timers and
 * deliveries alike, and the waiters would hang. So another scheduler looks at it once a second. Reactor's own shared schedulers live as long as the process.
 */
final class DisposalWatch extends DrainLoop {

    private static final long EVERY_SECONDS = 1;

    private final Scheduler watched;
    private final Scheduler watcher = Schedulers.parallel();
    private final boolean needed;
    private final BooleanSupplier hasWaiters;
    private final Runnable onDisposed;

    /** The drain loop's. */
    private @Nullable Disposable running;

    DisposalWatch(Scheduler watched, BooleanSupplier hasWaiters, Runnable onDisposed) {
        this.watched = watched;
        this.hasWaiters = hasWaiters;
        this.onDisposed = onDisposed;
        this.needed = watched != Schedulers.boundedElastic()
                && watched != Schedulers.parallel()
                && watched != Schedulers.single();
    }

    /** The first waiter came, or the last one left. */
    void update() {
        if (needed) {
            signal();
        }
    }

    @Override
    protected void drain() {
        boolean wanted = hasWaiters.getAsBoolean();
        if (wanted && running == null) {
            running = watcher.schedulePeriodically(this::look, EVERY_SECONDS, EVERY_SECONDS, TimeUnit.SECONDS);
        } else if (!wanted && running != null) {
            running.dispose();
            running = null;
        }
    }

    private void look() {
        if (watched.isDisposed()) {
            onDisposed.run();
        }
    }
}
