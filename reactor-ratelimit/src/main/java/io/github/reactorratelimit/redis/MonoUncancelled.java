package io.github.reactorratelimit.redis;

import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
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
        private boolean hasValue;

        Delivery(MonoUncancelled<T> mono, CoreSubscriber<? super T> actual) {
            this.mono = mono;
            this.actual = actual;
        }

        @Override
        public void request(long n) {
            if (Operators.validate(n) && phase.compareAndSet(SUBSCRIBED, REQUESTED)) {
                mono.source.subscribe(
                        value -> {
                            hasValue = true;
                            dispatch(() -> succeed(value));
                        },
                        error -> dispatch(() -> fail(error)),
                        () -> {
                            if (!hasValue) {
                                dispatch(this::complete);
                            }
                        });
            }
        }

        private void dispatch(Runnable delivery) {
            try {
                mono.callbacks.schedule(delivery);
            } catch (RejectedExecutionException gone) {
                delivery.run();
            }
        }

        private void succeed(T value) {
            if (phase.compareAndSet(REQUESTED, DONE)) {
                actual.onNext(value);
                actual.onComplete();
            } else {
                mono.unused.accept(value);
            }
        }

        private void fail(Throwable error) {
            if (phase.compareAndSet(REQUESTED, DONE)) {
                actual.onError(error);
            }
        }

        private void complete() {
            if (phase.compareAndSet(REQUESTED, DONE)) {
                actual.onComplete();
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
