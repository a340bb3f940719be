package io.github.reactorratelimit;

import java.util.concurrent.Executor;

/**
 * A thread that asks limiters and wants to be answered there, as an event loop does: see {@link RateLimitContext#answersOn}. Its
 * tasks run on it one after the other, each when what the thread is doing now has ended.
 */
public interface CallerThread extends Executor {

    /** Whether the caller is on it. */
    boolean isCurrent();

    /**
     * Runs a task on the thread, never before this returns. A task that was accepted must be run, for somebody waits for what it brings; one
     * that was not, because this throws, must never be. Called on threads of the store too, as that of its connection: so it must not block, not even for a
     * lock.
     *
     * @throws java.util.concurrent.RejectedExecutionException if it takes no more tasks
     */
    @Override
    void execute(Runnable task);
}
