package io.github.reactorratelimit.benchmarks.local;

import io.github.reactorratelimit.benchmarks.ComparedBenchmark;
import io.github.reactorratelimit.benchmarks.local.LocalContender.Decider;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.lang.ref.Reference;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Heap that the states of many keys use: in use after a collection with them, less before. The heap is
 * compacted and threads have no allocation buffers, so that the difference is exact. The time is that of
 * filling the table, and of no interest.
 */
@Fork(
        value = 1,
        jvmArgs = {"-XX:+UseSerialGC", "-XX:MarkSweepAlwaysCompactCount=1", "-XX:-UseTLAB", "-Xms2g", "-Xmx2g"})
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Warmup(iterations = 0)
@Measurement(iterations = 1, time = 1, timeUnit = TimeUnit.MILLISECONDS)
public class MemoryBenchmark extends ComparedBenchmark {

    private static final int COLLECTIONS = 3;

    @Param
    public LocalContender contender = LocalContender.TOKEN_BUCKET;

    @Param("1000000")
    public int keys;

    /** The figure of this benchmark. */
    @AuxCounters(AuxCounters.Type.EVENTS)
    @State(Scope.Thread)
    public static class Heap {

        /** Bytes per key, key strings excluded. */
        public double bytesPerKey;
    }

    /** Uses a permit of each key, once. */
    @Benchmark
    public void fill(Heap heap) {
        String[] all = ManyKeysBenchmark.keys(keys);
        contender.open(Limit.PER_DAY, 16).tryAcquire("loads classes", 1);
        long before = usedBytes();
        Decider decider = contender.open(Limit.PER_DAY, keys);
        try {
            for (String key : all) {
                if (!decider.tryAcquire(key, 1)) {
                    throw new IllegalStateException("denied");
                }
            }
            heap.bytesPerKey = (usedBytes() - before) / (double) keys;
        } finally {
            Reference.reachabilityFence(decider);
            Reference.reachabilityFence(all);
        }
    }

    /** What is in use after a collection. */
    public static long usedBytes() {
        MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
        for (int i = 0; i < COLLECTIONS; i++) {
            memory.gc();
        }
        return memory.getHeapMemoryUsage().getUsed();
    }
}
