package io.github.reactorratelimit.examples.playground.fragile;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What happened since the frame before, and how things stand.
 *
 * @param atMicros when, since the simulation began
 * @param events what happened, in the order in which it was noticed: {@link Side}, {@link What}, call, microseconds
 * @param capacity calls that each copy of the server can do per second now
 * @param badMoment whether that is less than usual
 * @param foundLimit the limit that an adaptive limiter has found, per second
 * @param waiting calls that wait for their turn, which only one side lets them do
 * @param code the code for the settings, if they changed
 */
record Frame(
        long atMicros,
        List<long[]> events,
        int capacity,
        boolean badMoment,
        @Nullable Long foundLimit,
        long waiting,
        @Nullable String code) {

    /** In the place of the side, for a call that both sides are about to make. */
    static final int NO_SIDE = -1;

    /** The two copies of the server. */
    enum Side {
        WITHOUT(0),
        WITH(1);

        /** What the page knows it by. */
        final int code;

        Side(int code) {
            this.code = code;
        }
    }

    /** What may happen to a call. All but the first two are its end. */
    enum What {
        /** A client wants to make it. */
        WANTED(0),
        /** It reaches the server, the first time or again. */
        SENT(1),
        /** It was answered well. */
        GOOD(2),
        /** The last answer was 429. */
        REFUSED(3),
        /** The last answer was 503, or did not come in time. */
        FAILED(4),
        /** The limiter did not let it go: it would have waited too long. */
        TURNED_AWAY(5);

        /** What the page knows it by. */
        final int code;

        What(int code) {
            this.code = code;
        }
    }

    /**
     * What a server and the limiter before it counted themselves, apart from the events.
     *
     * @param side which one
     * @param server what the server counted
     * @param denied calls that the limiter denied
     */
    record Totals(String side, FragileServer.Counted server, long denied) {}
}
