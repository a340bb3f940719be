package io.github.reactorratelimit;

import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Scannable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.MonoOperator;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * Turns a grant into a value and a denial into an error. One atomic move decides between the signal and a cancel: after a
 * cancel nothing is signalled, and a grant that arrives then is refunded.
 */
final class MonoGranted<T> extends MonoOperator<Decision, T> {

    private final String limiter;
    private final Function<Decision, T> toValue;
    private final Consumer<Decision> refund;

    MonoGranted(Mono<Decision> source, String limiter, Function<Decision, T> toValue, Consumer<Decision> refund) {
        super(source);
        this.limiter = limiter;
        this.toValue = toValue;
        this.refund = refund;
    }

    @Override
    public void subscribe(CoreSubscriber<? super T> actual) {
        source.subscribe(new GrantedSubscriber<>(this, actual));
    }

    private enum State {
        /** Nothing signalled yet. */
        ACTIVE,
        /** The value, the error or the end was signalled. */
        DONE,
        /** The subscriber cancelled first. */
        CANCELLED
    }

    private static final class GrantedSubscriber<T> extends AtomicReference<State>
            implements CoreSubscriber<Decision>, Subscription, Scannable {

        private static final long serialVersionUID = 1L;

        private final transient MonoGranted<T> parent;
        private final transient CoreSubscriber<? super T> actual;
        private transient @Nullable Subscription upstream;

        GrantedSubscriber(MonoGranted<T> parent, CoreSubscriber<? super T> actual) {
            super(State.ACTIVE);
            this.parent = parent;
            this.actual = actual;
        }

        @Override
        public void onSubscribe(Subscription subscription) {
            if (Operators.validate(upstream, subscription)) {
                upstream = subscription;
                actual.onSubscribe(this);
            }
        }

        @Override
        public void onNext(Decision decision) {
            if (!decision.allowed()) {
                onError(new RateLimitExceededException(decision, parent.limiter));
            } else if (compareAndSet(State.ACTIVE, State.DONE)) {
                actual.onNext(parent.toValue.apply(decision));
                actual.onComplete();
            } else {
                parent.refund.accept(decision);
            }
        }

        @Override
        public void onError(Throwable error) {
            if (compareAndSet(State.ACTIVE, State.DONE)) {
                actual.onError(error);
            }
        }

        @Override
        public void onComplete() {
            if (compareAndSet(State.ACTIVE, State.DONE)) {
                actual.onComplete();
            }
        }

        @Override
        public void request(long n) {
            if (upstream != null) {
                upstream.request(n);
            }
        }

        @Override
        public void cancel() {
            if (compareAndSet(State.ACTIVE, State.CANCELLED) && upstream != null) {
                upstream.cancel();
            }
        }

        @Override
        public Context currentContext() {
            return actual.currentContext();
        }

        @Override
        @SuppressWarnings("rawtypes")
        public @Nullable Object scanUnsafe(Attr attribute) {
            if (attribute == Attr.PARENT) {
                return upstream;
            }
            if (attribute == Attr.ACTUAL) {
                return actual;
            }
            if (attribute == Attr.TERMINATED) {
                return get() == State.DONE;
            }
            if (attribute == Attr.CANCELLED) {
                return get() == State.CANCELLED;
            }
            return attribute == Attr.RUN_STYLE ? Attr.RunStyle.SYNC : null;
        }
    }
}
