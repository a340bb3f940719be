package io.github.reactorratelimit.waiting;

import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/**
 * Notices that a user's scheduler was disposed while somebody waits. Such a scheduler drops its tasks
 * in silence, timers and deliveries alike, and whoever waits for one of them would hang; so another
 * scheduler looks after it once a second. Reactor's own shared schedulers live as long as the process.
 */
final class DisposalWatch extends SerialWorker {

    private static final long EVERY_SECONDS = 1;

    private final Scheduler watched;
    private final Scheduler watcher = Schedulers.parallel();
    private final boolean needed;
    private final BooleanSupplier somebodyWaits;
    private final Runnable onDisposed;

    /** The owner's. */
    private @Nullable Disposable running;

    DisposalWatch(Scheduler watched, BooleanSupplier somebodyWaits, Runnable onDisposed) {
        this.watched = watched;
        this.somebodyWaits = somebodyWaits;
        this.onDisposed = onDisposed;
        this.needed = watched != Schedulers.boundedElastic()
                && watched != Schedulers.parallel()
                && watched != Schedulers.single();
    }

    /** Somebody began to wait, or nobody waits any more. */
    void update() {
        if (needed) {
            poke();
        }
    }

    @Override
    void work() {
        boolean wanted = somebodyWaits.getAsBoolean();
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
