package io.github.reactorratelimit.examples.replay;

import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Counts over time, of several series, in a fixed number of buckets: when time goes on beyond the last one, neighbours are
 * merged and each is twice as long as before.
 */
final class Timeline {

    static final int BUCKETS = 600;

    private final long[][] counts;
    private long bucketNanos = TimeUnit.SECONDS.toNanos(1);
    private int used = 1;

    Timeline(int series) {
        this.counts = new long[series][BUCKETS];
    }

    void add(int series, long atNanos) {
        while (atNanos / bucketNanos >= BUCKETS) {
            merge();
        }
        int bucket = (int) (atNanos / bucketNanos);
        counts[series][bucket]++;
        used = Math.max(used, bucket + 1);
    }

    private void merge() {
        for (long[] row : counts) {
            for (int i = 0; i < BUCKETS / 2; i++) {
                row[i] = row[2 * i] + row[2 * i + 1];
            }
            Arrays.fill(row, BUCKETS / 2, BUCKETS, 0);
        }
        bucketNanos = Math.multiplyExact(bucketNanos, 2);
        used = (used + 1) / 2;
    }

    long bucketNanos() {
        return bucketNanos;
    }

    /** The counts of a series, up to the last bucket that any series reached. */
    List<Long> counts(int series) {
        return Arrays.stream(counts[series], 0, used).boxed().toList();
    }
}
