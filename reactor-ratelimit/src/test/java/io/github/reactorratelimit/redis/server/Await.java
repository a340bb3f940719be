package io.github.reactorratelimit.redis.server;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** Waits for a state of another process, which can only be asked for. */
public final class Await {

    /** Longer than anything takes on a busy machine; only a broken harness waits that long. */
    public static final Duration LONG = Duration.ofSeconds(30);

    private static final long STEP_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    private Await() {}

    /** A question to another process; an exception means not yet. */
    @FunctionalInterface
    public interface Check {
        boolean holds() throws Exception;
    }

    /** Returns as soon as the check holds; fails, saying what was awaited, after {@code atMost}. */
    public static void until(String awaited, Duration atMost, Check check) {
        long giveUpNanos = System.nanoTime() + atMost.toNanos();
        @Nullable Exception last;
        do {
            try {
                if (check.holds()) {
                    return;
                }
                last = null;
            } catch (Exception notYet) {
                last = notYet;
            }
            LockSupport.parkNanos(STEP_NANOS);
        } while (System.nanoTime() - giveUpNanos < 0);
        throw new AssertionError("not within " + atMost + ": " + awaited, last);
    }

    /** {@link #until(String, Duration, Check)} with {@link #LONG}. */
    public static void until(String awaited, Check check) {
        until(awaited, LONG, check);
    }
}
