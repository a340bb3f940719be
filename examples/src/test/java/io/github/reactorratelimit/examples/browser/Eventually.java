package io.github.reactorratelimit.examples.browser;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for what is bound to happen, however slow the machine is. */
public final class Eventually {

    private static final long PATIENCE_NANOS = TimeUnit.MINUTES.toNanos(2);
    private static final long STEP_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    private Eventually() {}

    /** Returns once the condition holds; fails, saying what did not happen, if it never does. */
    public static void until(String what, BooleanSupplier condition) {
        long begun = System.nanoTime();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - begun > PATIENCE_NANOS) {
                throw new AssertionError("never happened: " + what);
            }
            LockSupport.parkNanos(STEP_NANOS);
        }
    }
}
