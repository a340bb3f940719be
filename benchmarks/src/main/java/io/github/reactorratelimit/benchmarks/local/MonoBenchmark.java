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

/** One guarded call, all of them allowed or all denied. For one thread. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(Scope.Benchmark)
public class MonoBenchmark {

    /** Its name. */
    @Param("")
    public String contender = "";

    /** Whether everybody is allowed, or everybody denied. */
    @Param("true")
    public boolean allowed;

    private final ConsumingSubscriber subscriber = new ConsumingSubscriber();
    private MonoCall call = () -> MonoCall.GUARDED;

    /** Takes the only permit where everybody shall be denied. */
    @Setup
    public void open() {
        call = MonoCall.of(contender, allowed ? Limit.GENEROUS : Limit.SCARCE);
        call.mono().subscribe(subscriber);
    }

    /** A call. */
    @Benchmark
    public void subscribe(Blackhole hole) {
        subscriber.restart(hole);
        call.mono().subscribe(subscriber);
        subscriber.expect(allowed ? 1 : 0, allowed ? 0 : 1);
    }
}
