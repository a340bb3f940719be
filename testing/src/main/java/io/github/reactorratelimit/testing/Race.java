package io.github.reactorratelimit.testing;

import java.util.SplittableRandom;
import java.util.concurrent.Phaser;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Two threads that walk through a batch of races side by side: at each one they wait for each other, for
 * a moment only, so that a thread that lost its processor does not hold the other one up.
 */
public final class Race implements AutoCloseable {

    private static final int PATIENCE_SPINS = 2_000;
    private static final int MAX_SKEW_SPINS = 40;

    private final int batch;
    private final Phaser phaser = new Phaser(2);
    private final Side leftSide;
    private final Side rightSide;
    private IntConsumer right = i -> {};
    private volatile @Nullable Throwable failure;
    private volatile boolean closed;

    public Race(int batch, long seed) {
        this.batch = batch;
        SplittableRandom random = new SplittableRandom(seed);
        leftSide = new Side(random.split());
        rightSide = new Side(random.split());
        Thread other = new Thread(this::runRight, "race");
        other.setDaemon(true);
        other.start();
    }

    /** Runs both sides of each race of the batch, and returns when all have run. */
    public void run(IntConsumer left, IntConsumer right) {
        this.right = right;
        leftSide.reached = -1;
        rightSide.reached = -1;
        phaser.arriveAndAwaitAdvance();
        leftSide.walk(left, rightSide);
        phaser.arriveAndAwaitAdvance();
        if (failure != null) {
            throw new AssertionError(failure);
        }
    }

    private void runRight() {
        while (true) {
            phaser.arriveAndAwaitAdvance();
            if (closed) {
                return;
            }
            try {
                rightSide.walk(right, leftSide);
            } catch (Throwable thrown) {
                failure = thrown;
            }
            phaser.arriveAndAwaitAdvance();
        }
    }

    @Override
    public void close() {
        closed = true;
        phaser.arriveAndDeregister();
    }

    private final class Side {

        private final SplittableRandom random;
        private volatile int reached;

        Side(SplittableRandom random) {
            this.random = random;
        }

        void walk(IntConsumer action, Side other) {
            for (int i = 0; i < batch; i++) {
                reached = i;
                for (int spins = 0; other.reached < i && spins < PATIENCE_SPINS; spins++) {
                    Thread.onSpinWait();
                }
                for (int spins = random.nextInt(MAX_SKEW_SPINS); spins > 0; spins--) {
                    Thread.onSpinWait();
                }
                action.accept(i);
            }
        }
    }
}
