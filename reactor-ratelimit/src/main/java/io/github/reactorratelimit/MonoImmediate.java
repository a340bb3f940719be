package io.github.reactorratelimit;

import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Scannable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/** Decides when the subscriber requests, on its thread. A value that cannot be delivered, because the subscriber cancelled, is undone. */
abstract class MonoImmediate<T> extends Mono<T> implements Scannable {

    abstract T decide();

    /** Called before the value is delivered. */
    abstract void delivering(T value);

    abstract void undo(T value);

    @Override
    public final void subscribe(CoreSubscriber<? super T> actual) {
        actual.onSubscribe(new Request<>(this, actual));
    }

    @Override
    @SuppressWarnings("rawtypes")
    public final @Nullable Object scanUnsafe(Attr key) {
        return key == Attr.RUN_STYLE ? Attr.RunStyle.SYNC : null;
    }

    private static final class Request<T> implements Subscription, Scannable {

        /** Not requested. */
        private static final int IDLE = 0;
        /** The thread that requested decides. */
        private static final int DECIDING = 1;
        /** The value belongs to the subscriber. */
        private static final int DELIVERED = 2;
        /** The subscriber cancelled: a value that is decided now is undone. */
        private static final int CANCELLED = 3;

        @SuppressWarnings("rawtypes")
        private static final AtomicIntegerFieldUpdater<Request> STATE =
                AtomicIntegerFieldUpdater.newUpdater(Request.class, "state");

        private final MonoImmediate<T> parent;
        private final CoreSubscriber<? super T> actual;
        private volatile int state;

        Request(MonoImmediate<T> parent, CoreSubscriber<? super T> actual) {
            this.parent = parent;
            this.actual = actual;
        }

        @Override
        public void request(long n) {
            if (Operators.validate(n) && STATE.compareAndSet(this, IDLE, DECIDING)) {
                T value;
                try {
                    value = parent.decide();
                } catch (Throwable failure) {
                    fail(Operators.onOperatorError(failure, actual.currentContext()));
                    return;
                }
                deliver(value);
            }
        }

        private void deliver(T value) {
            if (!STATE.compareAndSet(this, DECIDING, DELIVERED)) {
                parent.undo(value);
                return;
            }
            parent.delivering(value);
            actual.onNext(value);
            if (state != CANCELLED) {
                actual.onComplete();
            }
        }

        private void fail(Throwable failure) {
            if (STATE.compareAndSet(this, DECIDING, DELIVERED)) {
                actual.onError(failure);
            } else if (!(failure instanceof RateLimitException)) {
                Operators.onErrorDropped(failure, actual.currentContext());
            }
        }

        @Override
        public void cancel() {
            state = CANCELLED;
        }

        @Override
        @SuppressWarnings("rawtypes")
        public @Nullable Object scanUnsafe(Attr key) {
            if (key == Attr.ACTUAL) {
                return actual;
            }
            if (key == Attr.CANCELLED) {
                return state == CANCELLED;
            }
            if (key == Attr.TERMINATED) {
                return state == DELIVERED;
            }
            return key == Attr.RUN_STYLE ? Attr.RunStyle.SYNC : null;
        }
    }
}
