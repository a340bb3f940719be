package io.github.reactorratelimit.benchmarks.local;

import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;

/**
 * A source that emits when it is told to, never inside {@code request}: what a network or a sink looks like to an operator,
 * without the cost of a thread change. For one subscriber and one thread.
 */
final class OneByOne extends Flux<Integer> implements Subscription {

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
