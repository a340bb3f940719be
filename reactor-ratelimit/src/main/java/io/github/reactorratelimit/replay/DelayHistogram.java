package io.github.reactorratelimit.replay;

import java.time.Duration;

/**
 * Counts events in constant memory. Delays go into buckets that grow with the delay, 128 to each doubling,
 * so a percentile is off by less than 1 %; it is never reported below its exact value.
 */
final class DelayHistogram {

    private static final int BITS = 7;
    private static final int BUCKETS_PER_DOUBLING = 1 << BITS;

    private final long[] counts = new long[(Long.SIZE - BITS) * BUCKETS_PER_DOUBLING];
    private long allowed;
    private long denied;
    private long delayed;
    private long longestNanos;

    void add(ReplayEvent event) {
        if (!event.allowed()) {
            denied++;
            return;
        }
        long nanos = event.delay().toNanos();
        allowed++;
        delayed += nanos > 0 ? 1 : 0;
        longestNanos = Math.max(longestNanos, nanos);
        counts[bucketOf(nanos)]++;
    }

    ReplaySummary summary() {
        return new ReplaySummary(
                allowed, denied, delayed, Duration.ofNanos(longestNanos), percentile(50), percentile(99));
    }

    private Duration percentile(int percent) {
        long rank = Math.max(1, (allowed * percent + 99) / 100);
        long seen = 0;
        for (int bucket = 0; bucket < counts.length; bucket++) {
            seen += counts[bucket];
            if (seen >= rank) {
                return Duration.ofNanos(Math.min(longestNanos, highestOf(bucket)));
            }
        }
        return Duration.ZERO;
    }

    /** Exact up to 255; above, the leading eight bits and their place. */
    private static int bucketOf(long nanos) {
        int shift = Math.max(0, Long.SIZE - 1 - BITS - Long.numberOfLeadingZeros(nanos));
        return shift * BUCKETS_PER_DOUBLING + (int) (nanos >>> shift);
    }

    private static long highestOf(int bucket) {
        int shift = Math.max(0, bucket / BUCKETS_PER_DOUBLING - 1);
        long leading = bucket - (long) shift * BUCKETS_PER_DOUBLING;
        return ((leading + 1) << shift) - 1;
    }
}
