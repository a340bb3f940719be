package io.github.reactorratelimit.redis;

import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.core.publisher.Signal;
import reactor.core.scheduler.Scheduler;

/**
 * Follows a source that goes on when the subscriber cancels, because what it may have done must be known. A
 * value is either delivered, on a scheduler, or goes to {@code unused}, at whatever moment the subscriber
 * cancels.
 */
final class MonoUncancelled<T> extends Mono<T> {

    private final Mono<T> source;
    private final Scheduler callbacks;
    private final Consumer<? super T> unused;

    MonoUncancelled(Mono<T> source, Scheduler callbacks, Consumer<? super T> unused) {
        this.source = source;
        this.callbacks = callbacks;
        this.unused = unused;
    }

    @Override
    public void subscribe(CoreSubscriber<? super T> actual) {
        actual.onSubscribe(new Delivery<>(this, actual));
    }

    private static final class Delivery<T> implements Subscription {

        private static final int SUBSCRIBED = 0;
        private static final int REQUESTED = 1;
        private static final int DONE = 2;
        private static final int CANCELLED = 3;

        private final MonoUncancelled<T> mono;
        private final CoreSubscriber<? super T> actual;
        private final AtomicInteger phase = new AtomicInteger(SUBSCRIBED);

        Delivery(MonoUncancelled<T> mono, CoreSubscriber<? super T> actual) {
            this.mono = mono;
            this.actual = actual;
        }

        @Override
        public void request(long n) {
            if (Operators.validate(n) && phase.compareAndSet(SUBSCRIBED, REQUESTED)) {
                mono.source.materialize().subscribe(this::dispatch);
            }
        }

        private void dispatch(Signal<T> outcome) {
            try {
                mono.callbacks.schedule(() -> deliver(outcome));
            } catch (RejectedExecutionException gone) {
                deliver(outcome);
            }
        }

        private void deliver(Signal<T> outcome) {
            T value = outcome.get();
            if (phase.compareAndSet(REQUESTED, DONE)) {
                outcome.accept(actual);
                if (value != null) {
                    actual.onComplete();
                }
            } else if (value != null) {
                mono.unused.accept(value);
            }
        }

        @Override
        public void cancel() {
            if (!phase.compareAndSet(SUBSCRIBED, CANCELLED)) {
                phase.compareAndSet(REQUESTED, CANCELLED);
            }
        }
    }
}
