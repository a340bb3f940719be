package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.Saturated;

/** Where windows start and end. Twin of fixed_window.lua: change both, or neither. */
interface WindowGrid {

    /**
     * Permits used in a window.
     *
     * @param start its first tick
     * @param end the first tick after it
     * @param used permits
     * @param first those of them that were debited no later than {@link #setUntil}
     */
    record Window(long start, long end, long used, long first) {

        /** Unused. */
        Window(long start, long end) {
            this(start, end, 0, 0);
        }
    }

    /** The window that {@code now} lies in, or would start, unused. */
    Window at(long now);

    /** The last time whose debits decide where this window ends; before all times if none do. */
    default long setUntil(Window window) {
        return Long.MIN_VALUE;
    }

    /**
     * The window when all debits are refunded that decided where it ends: it may end a window's length after
     * the first of the others, which was no later than {@code now}.
     */
    default Window reset(Window window, long now, long used) {
        throw new IllegalStateException("debits do not decide where " + window + " ends");
    }

    /** Windows that start with the first debit. */
    record FirstRequest(long windowTicks) implements WindowGrid {

        @Override
        public Window at(long now) {
            return new Window(now, Saturated.plus(now, windowTicks));
        }

        @Override
        public long setUntil(Window window) {
            return Ticks.minus(window.end(), windowTicks);
        }

        /**
         * Refunds of debits that are older than a window's length are lost: the window is never longer than
         * two.
         */
        @Override
        public Window reset(Window window, long now, long used) {
            long start = Math.max(window.start(), Ticks.minus(now, windowTicks));
            return new Window(start, Math.max(window.end(), Saturated.plus(now, windowTicks)), used, used);
        }
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
            return new Window(start, Saturated.plus(start, windowTicks));
        }
    }
}
