package io.github.reactorratelimit.adaptive;

import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Scannable;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * Passes a call on and tells when it was sent, when it came back and when it was gone. A Mono comes back with its value or its end. A Flux comes back with
 * its first element, because how long a stream runs is no latency, and once more if it fails afterwards. Who cancels before tells nothing but that it is
 * gone.
 */
final class MeasuredSubscriber<T> implements CoreSubscriber<T>, Subscription, Scannable {

    private final CoreSubscriber<? super T> actual;
    private final Observer observer;
    private final boolean single;
    private final long startedNanos;

    /** Whoever sets it tells that the call is gone, once. */
    private final AtomicBoolean gone = new AtomicBoolean();

    private @Nullable Subscription upstream;
    private boolean cameBack;
    private boolean done;

    /** @param single whether the first element is the whole of it */
    MeasuredSubscriber(CoreSubscriber<? super T> actual, Observer observer, boolean single) {
        this.actual = actual;
        this.observer = observer;
        this.single = single;
        this.startedNanos = observer.started();
    }

    @Override
    public Context currentContext() {
        return actual.currentContext();
    }

    @Override
    public void onSubscribe(Subscription subscription) {
        if (Operators.validate(upstream, subscription)) {
            upstream = subscription;
            actual.onSubscribe(this);
        }
    }

    @Override
    public void onNext(T element) {
        if (!cameBack && !gone.get()) {
            cameBack = true;
            observer.cameBack(startedNanos, observer.outcomes().ofValue(element, currentContext()));
            if (single) {
                leave();
            }
        }
        actual.onNext(element);
    }

    @Override
    public void onError(Throwable failure) {
        if (done) {
            Operators.onErrorDropped(failure, currentContext());
            return;
        }
        done = true;
        if (!gone.get()) {
            observer.cameBack(startedNanos, observer.outcomes().ofFailure(failure, currentContext()));
            leave();
        }
        actual.onError(failure);
    }

    @Override
    public void onComplete() {
        if (done) {
            return;
        }
        done = true;
        if (!cameBack && !gone.get()) {
            observer.cameBack(startedNanos, CallOutcome.SUCCESS);
        }
        leave();
        actual.onComplete();
    }

    @Override
    public void request(long n) {
        Subscription source = upstream;
        if (source != null) {
            source.request(n);
        }
    }

    @Override
    public void cancel() {
        leave();
        Subscription source = upstream;
        if (source != null) {
            source.cancel();
        }
    }

    private void leave() {
        if (gone.compareAndSet(false, true)) {
            observer.gone(startedNanos);
        }
    }

    @Override
    @SuppressWarnings("rawtypes")
    public @Nullable Object scanUnsafe(Attr key) {
        if (key == Attr.PARENT) {
            return upstream;
        }
        if (key == Attr.ACTUAL) {
            return actual;
        }
        if (key == Attr.TERMINATED) {
            return done;
        }
        return key == Attr.RUN_STYLE ? Attr.RunStyle.SYNC : null;
    }
}
