package io.github.reactorratelimit.adaptive;

import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Scannable;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * Passes a call through and reports when it was sent, when it came back and when it ended. A Mono comes back
 * with its value or its end. A Flux comes back with its first element, because the length of a stream is no
 * latency, and again if it fails later. A call that is cancelled before only ends.
 */
final class MeasuredSubscriber<T> implements CoreSubscriber<T>, Subscription, Scannable {

    private final CoreSubscriber<? super T> actual;
    private final CallObserver observer;
    private final boolean single;
    private final long startedNanos;

    /** The thread that sets it reports the end, once. */
    private final AtomicBoolean ended = new AtomicBoolean();

    private @Nullable Subscription upstream;
    private boolean cameBack;
    private boolean done;

    /** @param single whether the first element ends the call */
    MeasuredSubscriber(CoreSubscriber<? super T> actual, CallObserver observer, boolean single) {
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
        if (!cameBack && !ended.get()) {
            cameBack = true;
            observer.cameBack(startedNanos, observer.outcomes().ofValue(element, currentContext()));
            if (single) {
                end();
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
        if (!ended.get()) {
            observer.cameBack(startedNanos, observer.outcomes().ofFailure(failure, currentContext()));
            end();
        }
        actual.onError(failure);
    }

    @Override
    public void onComplete() {
        if (done) {
            return;
        }
        done = true;
        if (!cameBack && !ended.get()) {
            observer.cameBack(startedNanos, CallOutcome.SUCCESS);
        }
        end();
        actual.onComplete();
    }

    @Override
    public void request(long n) {
        Objects.requireNonNull(upstream).request(n);
    }

    @Override
    public void cancel() {
        end();
        Objects.requireNonNull(upstream).cancel();
    }

    private void end() {
        if (ended.compareAndSet(false, true)) {
            observer.ended();
        }
    }

    @Override
    @SuppressWarnings("rawtypes")
    public @Nullable Object scanUnsafe(Attr key) {
        if (key == Attr.PARENT || key == Attr.ACTUAL) {
            return key == Attr.PARENT ? upstream : actual;
        }
        if (key == Attr.TERMINATED) {
            return done;
        }
        return key == Attr.RUN_STYLE ? Attr.RunStyle.SYNC : null;
    }
}
