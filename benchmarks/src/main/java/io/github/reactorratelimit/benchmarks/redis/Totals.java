package io.github.reactorratelimit.benchmarks.redis;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;

/** Counts at one moment. */
record Totals(long nanos, long decided, long allowed, long allocatedBytes) {

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    static Totals of(Lane[] lanes) {
        return new Totals(
                System.nanoTime(),
                Arrays.stream(lanes).mapToLong(Lane::decided).sum(),
                Arrays.stream(lanes).mapToLong(Lane::allowed).sum(),
                allocatedByLiveThreads());
    }

    private static long allocatedByLiveThreads() {
        return Arrays.stream(THREADS.getThreadAllocatedBytes(THREADS.getAllThreadIds()))
                .filter(bytes -> bytes > 0)
                .sum();
    }

    LoadResult since(Totals before, Histogram latencyNanos) {
        long decisions = Math.max(1, decided - before.decided);
        return new LoadResult(
                decisions * (double) TimeUnit.SECONDS.toNanos(1) / (nanos - before.nanos),
                latencyNanos.getValueAtPercentile(50) / 1_000.0,
                latencyNanos.getValueAtPercentile(99) / 1_000.0,
                (allocatedBytes - before.allocatedBytes) / (double) decisions,
                (allowed - before.allowed) / (double) decisions);
    }
}
