package io.github.reactorratelimit.benchmarks.local;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.infra.Blackhole;

/** One allowed element of a Flux whose source emits when it likes, outside {@code request}. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(Scope.Benchmark)
public class AsyncFluxBenchmark {

    private static final Integer VALUE = 1;

    /** Its name. */
    @Param("")
    public String contender = "";

    private final OneByOne source = new OneByOne();

    /** Subscribes once. */
    @Setup
    public void open(Blackhole hole) {
        ConsumingSubscriber subscriber = new ConsumingSubscriber();
        subscriber.restart(hole);
        FluxCase.of(contender).limit(source).subscribe(subscriber);
        source.emit(VALUE);
        subscriber.expect(1, 0);
    }

    /** An element. */
    @Benchmark
    public void element() {
        source.emit(VALUE);
    }
}
