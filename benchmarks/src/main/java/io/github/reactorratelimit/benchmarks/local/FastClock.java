package io.github.reactorratelimit.benchmarks.local;

import io.github.bucket4j.TimeMeter;
import java.util.concurrent.TimeUnit;
import reactor.core.Disposable;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/**
 * A clock that runs faster than the machine's, so that a low limit always has permits for the next request.
 * It reads {@code System.nanoTime} each time, as a real clock does.
 */
final class FastClock implements Scheduler, TimeMeter {

    private final long originNanos = System.nanoTime();
    private final long speed;

    /**
     * @param speed how many nanoseconds pass within one; the clock ends after 2^63 of its own
     */
    FastClock(long speed) {
        this.speed = speed;
    }

    @Override
    public long currentTimeNanos() {
        return (System.nanoTime() - originNanos) * speed;
    }

    @Override
    public boolean isWallClockBased() {
        return false;
    }

    @Override
    public long now(TimeUnit unit) {
        return unit == TimeUnit.NANOSECONDS
                ? currentTimeNanos()
                : unit.convert(currentTimeNanos(), TimeUnit.NANOSECONDS);
    }

    @Override
    public Disposable schedule(Runnable task) {
        return Schedulers.parallel().schedule(task);
    }

    @Override
    public Disposable schedule(Runnable task, long delay, TimeUnit unit) {
        return Schedulers.parallel().schedule(task, unit.toNanos(delay) / speed, TimeUnit.NANOSECONDS);
    }

    @Override
    public Worker createWorker() {
        return Schedulers.parallel().createWorker();
    }
}
