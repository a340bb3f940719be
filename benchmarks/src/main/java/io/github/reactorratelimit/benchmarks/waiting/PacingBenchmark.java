package io.github.reactorratelimit.benchmarks.waiting;

import io.github.reactorratelimit.benchmarks.ComparedBenchmark;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;
import reactor.core.publisher.Flux;

/**
 * The rate that a paced Flux reaches: its source is always ready, and elements that leave at the start do not
 * count. The score includes the time to make the limiter and to subscribe.
 */
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Warmup(iterations = 1, time = 1)
@Measurement(iterations = 3, time = 1)
public class PacingBenchmark extends ComparedBenchmark {

    private static final int SECONDS = 3;

    @Param
    public Pacer contender = Pacer.INTERVAL;

    /** How even the gaps between elements are. */
    @AuxCounters(AuxCounters.Type.EVENTS)
    @State(Scope.Thread)
    public static class Gaps {

        /** Half of the gaps differ less from the interval. */
        public double deviationMicrosP50;

        /** 99 % of the gaps differ less from the interval. */
        public double deviationMicrosP99;

        /** What the rate from the first element after the burst to the last one lacks: 1 000 are 0.1 % of the limit. */
        public double lostPerMillion;
    }

    /** At a low rate the code would never be compiled, and compiling takes the processor from the timer. */
    @Setup
    public void warmUp() {
        contender.pace(Flux.range(0, 10_000 * SECONDS), 10_000).blockLast();
    }

    /** 100 per second. */
    @Benchmark
    @OperationsPerInvocation(100 * SECONDS)
    public void perSecond100(Gaps gaps) {
        pace(100, gaps);
    }

    /** 1 000 per second. */
    @Benchmark
    @OperationsPerInvocation(1_000 * SECONDS)
    public void perSecond1000(Gaps gaps) {
        pace(1_000, gaps);
    }

    /** 10 000 per second. */
    @Benchmark
    @OperationsPerInvocation(10_000 * SECONDS)
    public void perSecond10000(Gaps gaps) {
        pace(10_000, gaps);
    }

    private void pace(int perSecond, Gaps gaps) {
        int elements = contender.immediate() + perSecond * SECONDS;
        long[] leftNanos = new long[elements];
        contender
                .pace(Flux.range(0, elements), perSecond)
                .doOnNext(element -> leftNanos[element] = System.nanoTime())
                .blockLast();
        long interval = TimeUnit.SECONDS.toNanos(1) / perSecond;
        long[] deviations = new long[elements - contender.immediate() - 1];
        for (int i = 0; i < deviations.length; i++) {
            int at = contender.immediate() + i;
            deviations[i] = Math.abs(leftNanos[at + 1] - leftNanos[at] - interval);
        }
        Arrays.sort(deviations);
        gaps.deviationMicrosP50 = deviations[deviations.length / 2] / 1e3;
        gaps.deviationMicrosP99 = deviations[(int) (deviations.length * 0.99)] / 1e3;
        long tookNanos = leftNanos[elements - 1] - leftNanos[contender.immediate()];
        gaps.lostPerMillion = 1e6 * (1 - (double) interval * deviations.length / tookNanos);
    }
}
