package io.github.reactorratelimit.adaptive;

import java.util.OptionalLong;

/**
 * The lowest recent latency: that of an idle downstream. It is kept in two halves of a window, so that old
 * latencies are dropped: the baseline covers between one half and both.
 */
final class LatencyBaseline {

    private static final long NONE = Long.MAX_VALUE;

    private final long halfNanos;
    private long halfSinceNanos;
    private long lowest = NONE;
    private long lowestBefore = NONE;

    LatencyBaseline(long windowNanos, long nowNanos) {
        this.halfNanos = Math.max(1, windowNanos / 2);
        this.halfSinceNanos = nowNanos;
    }

    void record(long latencyNanos, long nowNanos) {
        long age = nowNanos - halfSinceNanos;
        if (age >= halfNanos) {
            lowestBefore = age >= 2 * halfNanos ? NONE : lowest;
            lowest = NONE;
            halfSinceNanos = nowNanos;
        }
        lowest = Math.min(lowest, latencyNanos);
    }

    /** Makes this latency the baseline from now on. */
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
