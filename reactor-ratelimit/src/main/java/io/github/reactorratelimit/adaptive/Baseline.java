package io.github.reactorratelimit.adaptive;

import java.util.OptionalLong;

/**
 * The lowest latency of the last while, which is that of a downstream with nothing to do. It is kept in two halves, so that what was lowest long ago is
 * forgotten: the answer covers between one half and both.
 */
final class Baseline {

    private static final long NONE = Long.MAX_VALUE;

    private final long halfNanos;
    private long halfSinceNanos;
    private long lowest = NONE;
    private long lowestBefore = NONE;

    Baseline(long windowNanos, long nowNanos) {
        this.halfNanos = Math.max(1, windowNanos / 2);
        this.halfSinceNanos = nowNanos;
    }

    void saw(long latencyNanos, long nowNanos) {
        long age = nowNanos - halfSinceNanos;
        if (age >= halfNanos) {
            lowestBefore = age >= 2 * halfNanos ? NONE : lowest;
            lowest = NONE;
            halfSinceNanos = nowNanos;
        }
        lowest = Math.min(lowest, latencyNanos);
    }

    /** From now on this is what a call takes. */
    void adopt(long latencyNanos, long nowNanos) {
        lowest = latencyNanos;
        lowestBefore = NONE;
        halfSinceNanos = nowNanos;
    }

    OptionalLong nanos() {
        long either = Math.min(lowest, lowestBefore);
        return either == NONE ? OptionalLong.empty() : OptionalLong.of(either);
    }
}
