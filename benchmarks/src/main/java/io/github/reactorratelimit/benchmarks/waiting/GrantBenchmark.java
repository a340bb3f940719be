package io.github.reactorratelimit.benchmarks.waiting;

import com.sun.management.OperatingSystemMXBean;
import io.github.reactorratelimit.benchmarks.ComparedBenchmark;
import io.github.reactorratelimit.benchmarks.local.MemoryBenchmark;
import io.github.reactorratelimit.benchmarks.waiting.WaitContender.Waiting;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/** Waiters of one key that are granted one permit after the other, burst 1. */
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 2, time = 1)
public class GrantBenchmark extends ComparedBenchmark {

    private static final int WAITERS = 500;
    private static final int CROWD = 100_000;
    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    @Param
    public WaitContender contender = WaitContender.ACQUIRE;

    /** What a grant costs. */
    @AuxCounters(AuxCounters.Type.EVENTS)
    @State(Scope.Thread)
    public static class Cost {

        private double cpuNanos;
        private long grants;

        /** Processor time of the whole JVM. */
        public double cpuMicrosPerGrant() {
            return cpuNanos / 1e3 / Math.max(1, grants);
        }
    }

    /** What a waiter costs. */
    @AuxCounters(AuxCounters.Type.EVENTS)
    @State(Scope.Thread)
    public static class Heap {

        /** In use after a collection, its subscriber included. */
        public double bytesPerWaiter;
    }

    /** 500 waiters at 1 000 per second. The time is that of the limit: the processor time is what counts. */
    @Benchmark
    @OperationsPerInvocation(WAITERS)
    public void grants(Cost cost) throws InterruptedException {
        try (Waiting waiting = contender.open(1_000, Duration.ofSeconds(1), WAITERS)) {
            long before = SYSTEM.getProcessCpuTime();
            leave(waiting, WAITERS);
            cost.cpuNanos += SYSTEM.getProcessCpuTime() - before;
            cost.grants += WAITERS;
        }
    }

    /** 100 000 waiters at 50 000 per second: 20 µs each are ideal. */
    @Benchmark
    @OperationsPerInvocation(CROWD)
    public void crowd() throws InterruptedException {
        try (Waiting waiting = contender.open(50_000, Duration.ofSeconds(1), CROWD)) {
            leave(waiting, CROWD);
        }
    }

    /** 100 000 waiters that stay. The time is that of joining, with cold code. */
    @Benchmark
    @OperationsPerInvocation(CROWD)
    public void hold(Heap heap) {
        try (Waiting waiting = contender.open(1, Duration.ofMinutes(1), CROWD)) {
            waiting.permit().subscribe();
            LongAdder denied = new LongAdder();
            long before = MemoryBenchmark.usedBytes();
            for (int i = 0; i < CROWD; i++) {
                waiting.permit().subscribe(granted -> {}, error -> denied.increment());
            }
            heap.bytesPerWaiter = (MemoryBenchmark.usedBytes() - before) / (double) CROWD;
            if (denied.sum() > 0) {
                throw new IllegalStateException(denied + " waiters were denied");
            }
        }
    }

    private static void leave(Waiting waiting, int waiters) throws InterruptedException {
        CountDownLatch left = new CountDownLatch(waiters);
        for (int i = 0; i < waiters; i++) {
            waiting.permit()
                    .subscribe(
                            granted -> {},
                            error -> {
                                throw new IllegalStateException("denied", error);
                            },
                            left::countDown);
        }
        if (!left.await(1, TimeUnit.MINUTES)) {
            throw new IllegalStateException(left.getCount() + " waiters were not granted a permit");
        }
    }
}
