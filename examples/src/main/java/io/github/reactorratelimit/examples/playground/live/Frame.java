package io.github.reactorratelimit.examples.playground.live;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What happened since the frame before, and how things stand.
 *
 * @param atMicros when, since the simulation began
 * @param events what happened, in the order in which it was noticed: lane, {@link What}, request, microseconds
 * @param lanes one for each {@link Kind}, in their order
 * @param code the code for the settings, if they changed
 */
record Frame(
        long atMicros,
        List<long[]> events,
        List<Level> lanes,
        @Nullable String code) {

    /** In the place of the lane, for what happens before any limiter is asked. */
    static final int NO_LANE = -1;

    /** What may happen to a request. */
    enum What {
        ARRIVED(0),
        LEFT(1),
        DENIED(2),
        CANCELLED(3);

        /** What the page knows it by. */
        final int code;

        What(int code) {
            this.code = code;
        }
    }

    /**
     * How a limiter stands.
     *
     * @param remaining permits left
     * @param limit permits of who spent nothing
     * @param waiting how many wait in line
     */
    record Level(long remaining, long limit, long waiting) {}

    /**
     * What a limiter itself counted, apart from the events.
     *
     * @param policy the name of its kind
     * @param left requests it allowed
     * @param denied requests it denied
     * @param cancelled requests that left its line
     */
    record Totals(String policy, long left, long denied, long cancelled) {}
}
