package io.github.reactorratelimit.adaptive;

/**
 * Tells whether a downstream serves nothing any more, as one does that is behind and to which a failure costs as much as an answer: it fails all there is until it is
 * called less. A probe that is only a little too much costs all that is in flight there, and what it serves meanwhile says nothing about what it can bear.
 *
 * <p>Nothing is served if so many calls are refused in a row; of a quarter of all that are in flight, if these are more, and not all sent within a few milliseconds: those that were
 * sent together, as after a pause of this machine, are refused together too. Calls that were sent before a collapse cannot make another.
 *
 * <p>A downstream that collapsed when it was probed will do so again: next time its first refusal is taken for a collapse, which spares the rest of the row. That is
 * <em>remembered</em> less with each time, and not at all once it refuses some and serves others; calls that were in flight and are refused too confirm it.
 */
final class Collapse {

    private static final int IN_A_ROW = 4;
    private static final int OF_IN_FLIGHT = 4;
    private static final long TOGETHER_NANOS = 10_000_000L;
    private static final int MOST_REMEMBERED = 4;

    private boolean ever;
    private long sinceNanos;

    /** Nothing was served yet of what was sent since. */
    private boolean lasts;

    private int inARow;
    private long rowSinceNanos;
    private int remembered;

    /** The limit was lowered for it. */
    void begin(long nowNanos) {
        ever = true;
        sinceNanos = nowNanos;
        lasts = true;
        inARow = 0;
    }

    /** A call was served; yields whether that ends it. */
    boolean endsWith(long startedNanos) {
        inARow = 0;
        if (!lasts) {
            return false;
        }
        remembered = Math.max(0, remembered - 1);
        lasts = wasSentBefore(startedNanos);
        return !lasts;
    }

    /** A call was refused; yields whether nothing is served any more. */
    boolean comesWith(long startedNanos, long inFlight) {
        if (wasSentBefore(startedNanos)) {
            remembered = remembered == 0 ? 0 : Math.min(MOST_REMEMBERED, remembered + 1);
            return false;
        }
        if (inARow++ == 0) {
            rowSinceNanos = startedNanos;
        }
        return inARow >= Math.max(IN_A_ROW, inFlight / OF_IN_FLIGHT) && startedNanos - rowSinceNanos >= TOGETHER_NANOS;
    }

    /** Whether the first refusal is its beginning. */
    boolean isExpected() {
        return remembered > 0;
    }

    void remember() {
        remembered = MOST_REMEMBERED;
    }

    /** More is refused after the first refusal; unless nothing else comes back, that is no collapse. */
    void refusedMore() {
        if (!lasts) {
            remembered = 0;
        }
    }

    private boolean wasSentBefore(long startedNanos) {
        return ever && startedNanos - sinceNanos < 0;
    }
}
