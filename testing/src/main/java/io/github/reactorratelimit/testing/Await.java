package io.github.reactorratelimit.testing;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** Waits for a condition that can only be polled, however slow the machine is. */
public final class Await {

    /** Longer than anything takes on a busy machine. */
    public static final Duration LONG = Duration.ofMinutes(2);

    private static final long STEP_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    private Await() {}

    /** The condition; an exception means not yet. */
    @FunctionalInterface
    public interface Check {
        boolean holds() throws Exception;
    }

    /** Returns when the condition holds; fails after {@code atMost} and names what was awaited. */
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
