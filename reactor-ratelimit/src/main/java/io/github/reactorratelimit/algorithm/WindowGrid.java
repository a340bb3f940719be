package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.FixedWindow.Alignment;
import io.github.reactorratelimit.algorithm.Algorithms.Clock;

/** Where windows start and end. Twin of fixed_window.lua: change both, or neither. */
interface WindowGrid {

    /**
     * Permits used in a window.
     *
     * @param start its first tick
     * @param end the first tick after it
     * @param used permits
     */
    record Window(long start, long end, long used) {}

    /** The window that {@code now} lies in, or would start, unused. */
    Window at(long now);

    static WindowGrid of(FixedWindow policy, Clock clock) {
        Alignment alignment = policy.alignment();
        if (alignment instanceof Alignment.Calendar calendar) {
            return new CalendarGrid(calendar, clock);
        }
        long window = clock.tick().ticks("window", policy.window());
        return alignment instanceof Alignment.Epoch
                ? new Epoch(window, clock.epochOffset())
                : now -> new Window(now, Ticks.plus(now, window), 0);
    }

    /** Windows of one length, aligned to the epoch. */
    final class Epoch implements WindowGrid {

        final long windowTicks;
        private final long offset;

        Epoch(long windowTicks, long epochOffset) {
            this.windowTicks = windowTicks;
            this.offset = Math.floorMod(epochOffset, windowTicks);
        }

        long startOf(long now) {
            long elapsed = Math.floorMod(now, windowTicks) - (windowTicks - offset);
            return Ticks.minus(now, elapsed < 0 ? elapsed + windowTicks : elapsed);
        }

        @Override
        public Window at(long now) {
            long start = startOf(now);
            return new Window(start, Ticks.plus(start, windowTicks), 0);
        }
    }
}
