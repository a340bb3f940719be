package io.github.reactorratelimit.redis;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import reactor.core.Disposable;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/**
 * A scheduler whose clock the test moves while its tasks run in real time, as answers of a real server need
 * it. The origin is a negative number, which is as good as any.
 */
final class HandClock implements Scheduler {

    private final Scheduler threads = Schedulers.parallel();
    private final AtomicLong nanos = new AtomicLong(-7_000_000_000L);

    void advance(Duration by) {
        nanos.addAndGet(by.toNanos());
    }

    long nanos() {
        return nanos.get();
    }

    @Override
    public long now(TimeUnit unit) {
        return unit == TimeUnit.MILLISECONDS ? threads.now(unit) : unit.convert(nanos.get(), TimeUnit.NANOSECONDS);
    }

    @Override
    public Disposable schedule(Runnable task) {
        return threads.schedule(task);
    }

    @Override
    public Disposable schedule(Runnable task, long delay, TimeUnit unit) {
        return threads.schedule(task, delay, unit);
    }

    @Override
    public Worker createWorker() {
        return threads.createWorker();
    }
}
