package io.github.reactorratelimit;

import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Scannable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

/**
 * A request for permits. It is decided when the subscriber requests: on its thread if {@link #decideNow} can,
 * else by {@link #decideLater}. One atomic move decides between delivery and cancel: after a cancel nothing
 * is signalled, and a decision that cannot be delivered is undone.
 *
 * @param <D> what is decided
 * @param <T> what the subscriber gets
 */
abstract class MonoRequest<D, T> extends Mono<T> implements Scannable {

    /** Decides on the caller's thread; null if only {@link #decideLater} can, and nothing was taken. */
    @Nullable
    abstract D decideNow();

    /** Decides on any thread, for the subscriber with this Context. */
    abstract Mono<D> decideLater(ContextView context);

    /** The value of a decision that the subscriber will get. May throw what it gets instead. */
    abstract T deliver(D decision);

    /** Refunds a decision that the subscriber will not get. */
    abstract void undo(D decision);

    @Override
    public final void subscribe(CoreSubscriber<? super T> actual) {
        actual.onSubscribe(new RequestSubscription<>(this, actual));
    }

    @Override
    @SuppressWarnings("rawtypes")
    public final @Nullable Object scanUnsafe(Attr key) {
        return key == Attr.RUN_STYLE ? Attr.RunStyle.SYNC : null;
    }

    private static final class RequestSubscription<D, T> implements Subscription, CoreSubscriber<D>, Scannable {

        /** Not requested. */
        private static final int IDLE = 0;
        /** A decision is pending. */
        private static final int DECIDING = 1;
        /** The outcome belongs to the subscriber. */
        private static final int DONE = 2;
        /** The subscriber cancelled: a decision that comes now is undone. */
        private static final int CANCELLED = 3;

        @SuppressWarnings("rawtypes")
        private static final AtomicIntegerFieldUpdater<RequestSubscription> STATE =
                AtomicIntegerFieldUpdater.newUpdater(RequestSubscription.class, "state");

        @SuppressWarnings("rawtypes")
        private static final AtomicReferenceFieldUpdater<RequestSubscription, Subscription> LATER =
                AtomicReferenceFieldUpdater.newUpdater(RequestSubscription.class, Subscription.class, "later");

        private final MonoRequest<D, T> parent;
        private final CoreSubscriber<? super T> actual;
        private volatile int state;
        private volatile @Nullable Subscription later;

        RequestSubscription(MonoRequest<D, T> parent, CoreSubscriber<? super T> actual) {
            this.parent = parent;
            this.actual = actual;
        }

        @Override
        public void request(long n) {
            if (!Operators.validate(n) || !STATE.compareAndSet(this, IDLE, DECIDING)) {
                return;
            }
            D decision;
            Mono<D> pending = null;
            try {
                decision = parent.decideNow();
                if (decision == null) {
                    pending = parent.decideLater(currentContext());
                }
            } catch (Throwable failure) {
                onError(Operators.onOperatorError(failure, currentContext()));
                return;
            }
            if (decision != null) {
                onNext(decision);
            } else if (pending != null) {
                pending.subscribe(this);
            }
        }

        @Override
        public void onSubscribe(Subscription subscription) {
            if (Operators.setOnce(LATER, this, subscription)) {
                subscription.request(Long.MAX_VALUE);
            }
        }

        @Override
        public void onNext(D decision) {
            if (!STATE.compareAndSet(this, DECIDING, DONE)) {
                parent.undo(decision);
                return;
            }
            T value;
            try {
                value = parent.deliver(decision);
            } catch (Throwable failure) {
                actual.onError(Operators.onOperatorError(failure, currentContext()));
                return;
            }
            actual.onNext(value);
            if (state != CANCELLED) {
                actual.onComplete();
            }
        }

        @Override
        public void onError(Throwable failure) {
            if (STATE.compareAndSet(this, DECIDING, DONE)) {
                actual.onError(failure);
            } else if (!(failure instanceof RateLimitException)) {
                Operators.onErrorDropped(failure, currentContext());
            }
        }

        @Override
        public void onComplete() {
            if (STATE.compareAndSet(this, DECIDING, DONE)) {
                actual.onComplete();
            }
        }

        @Override
        public void cancel() {
            if (STATE.getAndSet(this, CANCELLED) == DECIDING) {
                Operators.terminate(LATER, this);
            }
        }

        @Override
        public Context currentContext() {
            return actual.currentContext();
        }

        @Override
        @SuppressWarnings("rawtypes")
        public @Nullable Object scanUnsafe(Attr key) {
            if (key == Attr.PARENT) {
                return later;
            }
            if (key == Attr.ACTUAL) {
                return actual;
            }
            if (key == Attr.CANCELLED) {
                return state == CANCELLED;
            }
            if (key == Attr.TERMINATED) {
                return state == DONE;
            }
            return key == Attr.RUN_STYLE ? Attr.RunStyle.SYNC : null;
        }
    }
}
