package io.github.reactorratelimit.waiting;

import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/**
 * Notices that a user's scheduler was disposed with a timer pending. Such a scheduler drops its tasks
 * in silence and whoever waits for one of them would hang; so while a timer is armed another
 * scheduler looks after it once a second. Reactor's own shared schedulers live as long as the process.
 */
final class DisposalWatch {

    private static final long EVERY_SECONDS = 1;

    private final Scheduler watched;
    private final Scheduler watcher = Schedulers.parallel();
    private final boolean needed;
    private final Runnable onDisposed;
    private @Nullable Disposable running;

    DisposalWatch(Scheduler watched, Runnable onDisposed) {
        this.watched = watched;
        this.onDisposed = onDisposed;
        this.needed = watched != Schedulers.boundedElastic()
                && watched != Schedulers.parallel()
                && watched != Schedulers.single();
    }

    void start() {
        if (needed && running == null) {
            running = watcher.schedulePeriodically(this::look, EVERY_SECONDS, EVERY_SECONDS, TimeUnit.SECONDS);
        }
    }

    void stop() {
        if (running != null) {
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
