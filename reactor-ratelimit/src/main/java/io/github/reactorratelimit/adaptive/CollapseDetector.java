package io.github.reactorratelimit.adaptive;

import java.util.OptionalLong;

/**
 * Detects a downstream that serves nothing any more. Such a downstream is behind, and a failure costs it as
 * much as an answer, so it fails everything until it gets fewer calls. A probe that is slightly too much then
 * costs all calls in flight, and the throughput meanwhile does not show what it can bear.
 *
 * <p>It counts as collapsed after a row of rejections: {@value #IN_A_ROW}, or a quarter of the calls in
 * flight if that is more, not all sent within a few milliseconds. Calls that were sent together, as after a
 * pause of this machine, are rejected together too. Calls that were sent before a collapse cannot cause
 * another.
 *
 * <p>A downstream that collapsed under a probe will do so again: next time its first rejection counts as a
 * collapse, which spares the rest of the row. This memory fades with each collapse, and is lost when the
 * downstream rejects some calls and serves others. Calls in flight that are rejected as well confirm it.
 */
final class CollapseDetector {

    private static final int IN_A_ROW = 4;
    private static final int OF_IN_FLIGHT = 4;
    private static final long TOGETHER_NANOS = 10_000_000L;
    private static final int MOST_REMEMBERED = 4;

    private OptionalLong sinceNanos = OptionalLong.empty();

    /** No call that was sent since has been served. */
    private boolean lasts;

    private int inARow;
    private long rowSinceNanos;
    private int remembered;

    /** The limit was lowered because of a collapse. */
    void begin(long nowNanos) {
        sinceNanos = OptionalLong.of(nowNanos);
        lasts = true;
        inARow = 0;
    }

    /** A call was served; yields whether that ends the collapse. */
    boolean endsWith(long startedNanos) {
        inARow = 0;
        if (!lasts) {
            return false;
        }
        remembered = Math.max(0, remembered - 1);
        lasts = wasSentBefore(startedNanos);
        return !lasts;
    }

    /** A call was rejected; yields whether that makes a collapse. */
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

    /** Whether the first rejection counts as a collapse. */
    boolean isExpected() {
        return remembered > 0;
    }

    void remember() {
        remembered = MOST_REMEMBERED;
    }

    /** Another call was rejected: if others are served, this is no collapse. */
    void refusedMore() {
        if (!lasts) {
            remembered = 0;
        }
    }

    private boolean wasSentBefore(long startedNanos) {
        return sinceNanos.isPresent() && startedNanos - sinceNanos.getAsLong() < 0;
    }
}
