package io.github.reactorratelimit.webflux.fragile;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.scheduler.Scheduler;

/** Another scheduler, and how much it still has to do: tasks that neither ran nor were disposed of, workers that were not. */
final class CountingScheduler implements Scheduler {

    private final Scheduler scheduler;
    private final AtomicInteger tasks = new AtomicInteger();
    private final AtomicInteger workers = new AtomicInteger();

    CountingScheduler(Scheduler scheduler) {
        this.scheduler = scheduler;
    }

    int tasks() {
        return tasks.get();
    }

    int workers() {
        return workers.get();
    }

    @Override
    public long now(TimeUnit unit) {
        return scheduler.now(unit);
    }

    @Override
    public Disposable schedule(Runnable task) {
        Counted counted = new Counted(task);
        return counted.scheduled(scheduler.schedule(counted));
    }

    @Override
    public Disposable schedule(Runnable task, long delay, TimeUnit unit) {
        Counted counted = new Counted(task);
        return counted.scheduled(scheduler.schedule(counted, delay, unit));
    }

    @Override
    public Worker createWorker() {
        return new CountedWorker(scheduler.createWorker());
    }

    /** Counts until it ran or was disposed of, whichever comes first. */
    private final class Counted implements Runnable {

        private final Runnable task;
        private final Disposable pending = Disposables.composite(tasks::decrementAndGet);

        Counted(Runnable task) {
            this.task = task;
            tasks.incrementAndGet();
        }

        @Override
        public void run() {
            pending.dispose();
            task.run();
        }

        Disposable scheduled(Disposable scheduled) {
            return Disposables.composite(scheduled, pending);
        }
    }

    private final class CountedWorker implements Worker {

        private final Worker worker;
        private final Disposable.Composite open = Disposables.composite(workers::decrementAndGet);

        CountedWorker(Worker worker) {
            this.worker = worker;
            workers.incrementAndGet();
        }

        @Override
        public Disposable schedule(Runnable task) {
            Counted counted = new Counted(task);
            open.add(counted.pending);
            return counted.scheduled(worker.schedule(counted));
        }

        @Override
        public Disposable schedule(Runnable task, long delay, TimeUnit unit) {
            Counted counted = new Counted(task);
            open.add(counted.pending);
            return counted.scheduled(worker.schedule(counted, delay, unit));
        }

        @Override
        public void dispose() {
            worker.dispose();
            open.dispose();
        }

        @Override
        public boolean isDisposed() {
            return open.isDisposed();
        }
    }
}
