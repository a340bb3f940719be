package io.github.reactorratelimit.redis;

import org.jspecify.annotations.Nullable;

/** Whether this thread is the connection's and tells answers just now, because the user chose so. */
final class OnConnection {

    private static final ThreadLocal<@Nullable Boolean> TELLING = new ThreadLocal<>();

    private OnConnection() {}

    static boolean isHere() {
        return TELLING.get() != null;
    }

    static void tell(Runnable answers) {
        run(answers, true);
    }

    /** As if this were any thread. */
    static void leave(Runnable task) {
        run(task, null);
    }

    private static void run(Runnable task, @Nullable Boolean telling) {
        Boolean outer = TELLING.get();
        TELLING.set(telling);
        try {
            task.run();
        } finally {
            TELLING.set(outer);
        }
    }
}
