package io.github.reactorratelimit;

import java.util.concurrent.Executor;

/**
 * A thread that uses limiters and wants their decisions there, such as an event loop: see {@link
 * RateLimitContext#answersOn}. Its tasks run one after the other, each after the current one has ended.
 */
public interface CallerThread extends Executor {

    /** Whether the caller is on it. */
    boolean isCurrent();

    /**
     * Runs a task on the thread, never before this method returns. An accepted task must run, because a
     * subscriber waits for it; a task that was refused with an exception must never run. Threads of the store
     * call it too, such as that of its connection: it must not block, not even for a lock.
     *
     * @throws java.util.concurrent.RejectedExecutionException if it takes no more tasks
     */
    @Override
    void execute(Runnable task);
}
