package io.github.reactorratelimit.benchmarks.local;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.infra.Blackhole;
import reactor.core.publisher.Flux;

/** One allowed element of a Flux whose source has all elements at hand. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(Scope.Benchmark)
public class FluxBenchmark {

    private static final int ELEMENTS = 1_000;

    /** Its name. */
    @Param("")
    public String contender = "";

    private final ConsumingSubscriber subscriber = new ConsumingSubscriber();
    private Flux<Integer> flux = Flux.empty();

    /** Assembles it once. */
    @Setup
    public void open() {
        flux = FluxCase.of(contender).limit(Flux.range(0, ELEMENTS));
    }

    /** A subscription, of which each element counts. */
    @Benchmark
    @OperationsPerInvocation(ELEMENTS)
    public void elements(Blackhole hole) {
        subscriber.restart(hole);
        flux.subscribe(subscriber);
        subscriber.expect(ELEMENTS, 0);
    }
}
