package io.github.reactorratelimit.local;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Two threads that start each of many rounds at the same instant, within nanoseconds. On a machine that
 * is busy with other things a round may take milliseconds: then there are fewer, but always some.
 */
final class Rounds {

    /** What is done in a round. */
    interface Step {
        void run(int round);
    }

    private static final int FEWEST = 1_000;
    private static final long LONGEST_NANOS = Tables.FULL ? Long.MAX_VALUE : 3_000_000_000L;

    private Rounds() {}

    /**
     * Plays until the rounds are done or the time is over.
     *
     * @param after runs when both are done with a round, before the next; ends everything if it throws
     */
    static void run(int rounds, Step left, Step right, Step after) throws InterruptedException {
        Game game = new Game(rounds);
        Thread other = new Thread(() -> game.play(right, round -> {}));
        other.start();
        int played = game.play(left, after);
        other.join();
        System.out.printf("%d rounds%n", played);
        Throwable failure = game.failure.get();
        if (failure != null) {
            throw new AssertionError(failure.getMessage(), failure);
        }
    }

    private static final class Game {

        private final AtomicInteger arrivals = new AtomicInteger();
        private final AtomicInteger lastRound;
        private final AtomicReference<Throwable> failure = new AtomicReference<>();
        private final long began = System.nanoTime();

        Game(int rounds) {
            this.lastRound = new AtomicInteger(rounds - 1);
        }

        int play(Step step, Step after) {
            int round = 0;
            for (; round <= lastRound.get() && failure.get() == null; round++) {
                try {
                    endIfTimeIsOver(round);
                    meet(4 * round + 2);
                    spin(round * 31 % 64);
                    step.run(round);
                    meet(4 * round + 4);
                    after.run(round);
                } catch (RuntimeException | Error e) {
                    failure.compareAndSet(null, e);
                }
            }
            return round;
        }

        /** The other one is in this round or has not begun it yet, so both play it and no other after it. */
        private void endIfTimeIsOver(int round) {
            if (round >= FEWEST && System.nanoTime() - began > LONGEST_NANOS) {
                lastRound.accumulateAndGet(round, Math::min);
            }
        }

        private void meet(int expected) {
            arrivals.incrementAndGet();
            for (int spins = 0; arrivals.get() < expected && failure.get() == null; spins++) {
                if (spins > 1_000) {
                    Thread.yield();
                } else {
                    Thread.onSpinWait();
                }
            }
        }

        private static void spin(int times) {
            for (int i = 0; i < times; i++) {
                Thread.onSpinWait();
            }
        }
    }
}
