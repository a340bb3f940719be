package io.github.reactorratelimit.benchmarks.local;

import io.github.reactorratelimit.benchmarks.ComparedBenchmark;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.infra.Blackhole;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;

/** An allowed element of a Flux. For one thread. */
public class FluxBenchmark extends ComparedBenchmark {

    private static final int ELEMENTS = 1_000;
    private static final Integer ELEMENT = 1;

    @Param
    public FluxContender contender = FluxContender.OPERATOR;

    @Param("PER_SECOND")
    public Limit limit = Limit.PER_SECOND;

    private final CheckingSubscriber subscriber = new CheckingSubscriber();
    private final CheckingSubscriber pushedSubscriber = new CheckingSubscriber();
    private final PushedSource source = new PushedSource();
    private Flux<Integer> fused = Flux.empty();

    /** Assembles both. */
    @Setup
    public void open(Blackhole hole) {
        fused = contender.limit(Flux.range(0, ELEMENTS), limit);
        pushedSubscriber.restart(hole);
        contender.limit(source, limit).subscribe(pushedSubscriber);
        source.emit(ELEMENT);
        pushedSubscriber.expect(1, 0);
    }

    /** A source that has all elements at hand and can be fused. */
    @Benchmark
    @OperationsPerInvocation(ELEMENTS)
    public void fused(Blackhole hole) {
        subscriber.restart(hole);
        fused.subscribe(subscriber);
        subscriber.expect(ELEMENTS, 0);
    }

    /** A source that emits outside {@code request}, as a network does. */
    @Benchmark
    public void pushed(Blackhole hole) {
        pushedSubscriber.restart(hole);
        source.emit(ELEMENT);
        pushedSubscriber.expect(1, 0);
    }

    private static final class PushedSource extends Flux<Integer> implements Subscription {

        private @Nullable CoreSubscriber<? super Integer> subscriber;
        private long requested;

        @Override
        public void subscribe(CoreSubscriber<? super Integer> actual) {
            subscriber = actual;
            actual.onSubscribe(this);
        }

        void emit(Integer value) {
            if (requested == 0) {
                throw new IllegalStateException("nothing was requested");
            }
            if (requested != Long.MAX_VALUE) {
                requested--;
            }
            Objects.requireNonNull(subscriber).onNext(value);
        }

        @Override
        public void request(long n) {
            requested = Operators.addCap(requested, n);
        }

        @Override
        public void cancel() {
            requested = 0;
        }
    }
}
