package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.CallerThread;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/** A thread that asks, whose turns end when the test says so, on the thread of the test. */
final class HandThread implements CallerThread {

    private final Thread owner = Thread.currentThread();
    private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    private volatile @Nullable Throwable refusal;

    /** Takes no more tasks. */
    void refuse() {
        refuseBy(new RejectedExecutionException("takes no more tasks"));
    }

    /** @param thrown unchecked */
    void refuseBy(Throwable thrown) {
        refusal = thrown;
    }

    int waiting() {
        return tasks.size();
    }

    /** Runs the tasks that wait, and those that come meanwhile. */
    void endTurn() {
        for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
            task.run();
        }
    }

    @Override
    public boolean isCurrent() {
        return Thread.currentThread() == owner;
    }

    @Override
    public void execute(Runnable task) {
        Throwable thrown = refusal;
        if (thrown instanceof Error error) {
            throw error;
        }
        if (thrown != null) {
            throw (RuntimeException) thrown;
        }
        tasks.add(task);
    }
}
