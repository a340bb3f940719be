package io.github.reactorratelimit.fairness;

import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;
import reactor.core.scheduler.Scheduler;

/** One pending task at most, for the next time at which somebody must be looked at. Owned by the line's drain loop. */
final class Alarm {

    static final long NEVER = Long.MAX_VALUE;

    private final Scheduler scheduler;
    private final Runnable wake;
    private @Nullable Pending pending;

    Alarm(Scheduler scheduler, Runnable wake) {
        this.scheduler = scheduler;
        this.wake = wake;
    }

    /** One that could not be disposed in time wakes in vain. */
    private final class Pending implements Runnable {

        private final long at;
        private volatile boolean fired;
        private @Nullable Disposable task;

        Pending(long at) {
            this.at = at;
        }

        @Override
        public void run() {
            fired = true;
            wake.run();
        }
    }

    /**
     * Wakes at this time, or earlier in vain; {@link #NEVER} for not at all.
     *
     * @throws RejectedExecutionException if the scheduler takes no tasks
     */
    void set(long at, long now) {
        Pending before = pending;
        if (before != null && !before.fired && before.at <= at && at != NEVER) {
            return;
        }
        if (before != null && before.task != null) {
            before.task.dispose();
        }
        pending = null;
        if (at != NEVER) {
            Pending next = new Pending(at);
            pending = next;
            next.task = scheduler.schedule(next, Math.max(0, at - now), TimeUnit.NANOSECONDS);
        }
    }
}
