package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.FixedWindow.Alignment;
import io.github.reactorratelimit.algorithm.Algorithms.Clock;
import io.github.reactorratelimit.algorithm.WindowGrid.Window;

/** Where the windows of a calendar lie, for a twin in another language that knows no calendar. */
public final class CalendarWindows {

    private final WindowGrid grid;

    private CalendarWindows(WindowGrid grid) {
        this.grid = grid;
    }

    /** The windows of a calendar. */
    public static CalendarWindows of(Alignment.Calendar calendar, Clock clock) {
        return new CalendarWindows(CalendarGrid.of(calendar, clock.tick(), clock.epochOffset()));
    }

    /**
     * The window of {@code now}, the one before and the one after: four times, each the end of one window
     * and the start of the next.
     */
    public long[] around(long now) {
        Window current = grid.at(now);
        Window previous = grid.at(current.start() - 1);
        Window next = grid.at(current.end());
        return new long[] {previous.start(), current.start(), current.end(), next.end()};
    }
}
