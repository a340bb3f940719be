package io.github.reactorratelimit.benchmarks.local;

import io.github.reactorratelimit.benchmarks.ComparedBenchmark;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.infra.Blackhole;
import reactor.core.publisher.Mono;

/** A subscription, all allowed, or all denied with {@link Limit#PER_DAY}. For one thread. */
public class MonoBenchmark extends ComparedBenchmark {

    @Param
    public MonoContender contender = MonoContender.OPERATOR;

    @Param("PER_SECOND")
    public Limit limit = Limit.PER_SECOND;

    private final CheckingSubscriber subscriber = new CheckingSubscriber();
    private Mono<?> mono = Mono.empty();
    private boolean allowed;

    /** Opens the limiter, and spends its permits if all requests are to be denied. */
    @Setup
    public void open() {
        mono = contender.open(limit);
        allowed = limit != Limit.PER_DAY;
        for (int i = 0; !allowed && i <= limit.burst; i++) {
            mono.subscribe(subscriber);
        }
    }

    /** A subscription. */
    @Benchmark
    public void subscribe(Blackhole hole) {
        subscriber.restart(hole);
        mono.subscribe(subscriber);
        subscriber.expect(allowed ? 1 : 0, allowed ? 0 : 1);
    }
}
