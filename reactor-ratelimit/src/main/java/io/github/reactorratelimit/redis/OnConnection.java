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
        Boolean outer = TELLING.get();
        TELLING.set(true);
        try {
            answers.run();
        } finally {
            TELLING.set(outer);
        }
    }
}
