package io.github.reactorratelimit.testing;

import java.util.Random;

/** Runs two actions at the same moment, again and again, with a small random head start for either. */
public final class Race implements AutoCloseable {

    private static final int SPINS_BEFORE_YIELD = 2_000;
    private static final int MAX_HEAD_START_SPINS = 60;

    private final Random random;
    private final Thread other;
    private Runnable action = () -> {};
    private int actionHeadStart;
    private volatile Throwable failure;
    private volatile long started;
    private volatile long finished;
    private volatile boolean closed;

    public Race(long seed) {
        random = new Random(seed);
        other = new Thread(this::runOther, "race");
        other.setDaemon(true);
        other.start();
    }

    /** Returns when both have run. */
    public void run(Runnable left, Runnable right) {
        action = right;
        actionHeadStart = random.nextInt(MAX_HEAD_START_SPINS);
        int headStart = random.nextInt(MAX_HEAD_START_SPINS);
        long round = ++started;
        spin(headStart);
        left.run();
        for (int spins = 0; finished != round; spins++) {
            pause(spins);
        }
        if (failure != null) {
            throw new AssertionError(failure);
        }
    }

    private void runOther() {
        for (long round = 1; !closed; round++) {
            for (int spins = 0; started != round && !closed; spins++) {
                pause(spins);
            }
            if (closed) {
                return;
            }
            try {
                spin(actionHeadStart);
                action.run();
            } catch (Throwable thrown) {
                failure = thrown;
            }
            finished = round;
        }
    }

    private static void spin(int spins) {
        for (int i = 0; i < spins; i++) {
            Thread.onSpinWait();
        }
    }

    private static void pause(int spins) {
        if (spins < SPINS_BEFORE_YIELD) {
            Thread.onSpinWait();
        } else {
            Thread.yield();
        }
    }

    @Override
    public void close() {
        closed = true;
    }
}
