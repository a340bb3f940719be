package io.github.reactorratelimit.redis;

import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/** What is thrown where others wait for what comes next: it must not keep them waiting, and must not vanish. */
final class Strays {

    private Strays() {}

    /**
     * Whether somebody else's executor took the task. If it fails in any way it did not: who hands tasks over keeps count of them, and
     * a count that stays leaves everybody waiting.
     */
    static boolean takes(Executor executor, Runnable task) {
        try {
            executor.execute(task);
            return true;
        } catch (RejectedExecutionException fullOrGone) {
            return false;
        } catch (Throwable broken) {
            tell(broken);
            return false;
        }
    }

    /** As if nobody had caught it, but the thread goes on. */
    static void tell(Throwable thrown) {
        Thread thread = Thread.currentThread();
        thread.getUncaughtExceptionHandler().uncaughtException(thread, thrown);
    }
}
