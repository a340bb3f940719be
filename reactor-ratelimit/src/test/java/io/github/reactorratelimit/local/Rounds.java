package io.github.reactorratelimit.local;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/** Two threads that start each of many rounds at the same instant, within nanoseconds. */
final class Rounds {

    /** What is done in a round. */
    interface Step {
        void run(int round);
    }

    private Rounds() {}

    /** @param after runs when both are done with a round, before the next; ends everything if it throws */
    static void run(int rounds, Step left, Step right, Step after) throws InterruptedException {
        AtomicInteger arrivals = new AtomicInteger();
        AtomicReference<Throwable> failure = new AtomicReference<>();
        Thread other = new Thread(() -> play(rounds, right, round -> {}, arrivals, failure));
        other.start();
        play(rounds, left, after, arrivals, failure);
        other.join();
        if (failure.get() != null) {
            throw new AssertionError(failure.get().getMessage(), failure.get());
        }
    }

    private static void play(
            int rounds, Step step, Step after, AtomicInteger arrivals, AtomicReference<Throwable> failure) {
        for (int round = 0; round < rounds && failure.get() == null; round++) {
            try {
                meet(arrivals, 6 * round + 2, failure);
                spin(round * 31 % 64);
                step.run(round);
                meet(arrivals, 6 * round + 4, failure);
                after.run(round);
                meet(arrivals, 6 * round + 6, failure);
            } catch (RuntimeException | Error e) {
                failure.compareAndSet(null, e);
            }
        }
    }

    private static void meet(AtomicInteger arrivals, int expected, AtomicReference<Throwable> failure) {
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
