package io.github.reactorratelimit;

import java.util.concurrent.TimeUnit;
import reactor.core.Disposable;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** A scheduler that runs something whenever its clock is read. */
final class HookedClock implements Scheduler {

    private final Scheduler actual = Schedulers.parallel();
    private final Runnable whenRead;

    HookedClock(Runnable whenRead) {
        this.whenRead = whenRead;
    }

    @Override
    public long now(TimeUnit unit) {
        whenRead.run();
        return actual.now(unit);
    }

    @Override
    public Disposable schedule(Runnable task) {
        return actual.schedule(task);
    }

    @Override
    public Disposable schedule(Runnable task, long delay, TimeUnit unit) {
        return actual.schedule(task, delay, unit);
    }

    @Override
    public Worker createWorker() {
        return actual.createWorker();
    }
}
