package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.RateLimitException;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Scannable;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/** What the subscribers that limit elements have in common: upstream, downstream and its demand. */
abstract class ElementSubscriber<T> implements CoreSubscriber<T>, Subscription, Scannable {

    @SuppressWarnings("rawtypes")
    private static final AtomicLongFieldUpdater<ElementSubscriber> REQUESTED =
            AtomicLongFieldUpdater.newUpdater(ElementSubscriber.class, "requested");

    final CoreSubscriber<? super T> actual;
    final Asking<T> asking;
    final Denial<T> denial;

    private @Nullable Subscription s;

    /** What downstream asked for and did not get. */
    private volatile long requested;

    ElementSubscriber(CoreSubscriber<? super T> actual, Asking<T> asking, Denial<T> denial) {
        this.actual = actual;
        this.asking = asking;
        this.denial = denial;
    }

    /** Elements that are held. */
    abstract int held();

    abstract boolean isCancelled();

    abstract boolean isEnded();

    @Override
    public final void onSubscribe(Subscription s) {
        if (Operators.validate(this.s, s)) {
            this.s = s;
            actual.onSubscribe(this);
        }
    }

    final Subscription upstream() {
        return Objects.requireNonNull(s);
    }

    final long requested() {
        return requested;
    }

    /** Adds to the demand and returns what it was before. */
    final long addRequested(long n) {
        return Operators.addCap(REQUESTED, this, n);
    }

    /** Takes one off the demand and returns what is left. */
    final long countEmitted() {
        return Operators.produced(REQUESTED, this, 1);
    }

    final void discard(T element) {
        Operators.onDiscard(element, currentContext());
    }

    /** For an element in whose place another is emitted, or itself after all. */
    final void discardUnlessSame(T element, T emitted) {
        if (element != emitted) {
            discard(element);
        }
    }

    /** For a failure that comes too late: a limiter that denies or closes after the subscriber left has nobody to tell. */
    final void dropUnlessFromLimiter(Throwable failure) {
        if (!(failure instanceof RateLimitException)) {
            Operators.onErrorDropped(failure, currentContext());
        }
    }

    @Override
    public final Context currentContext() {
        return actual.currentContext();
    }

    @Override
    @SuppressWarnings("rawtypes")
    public final @Nullable Object scanUnsafe(Attr key) {
        if (key == Attr.PARENT) {
            return s;
        }
        if (key == Attr.ACTUAL) {
            return actual;
        }
        if (key == Attr.REQUESTED_FROM_DOWNSTREAM) {
            return requested;
        }
        if (key == Attr.BUFFERED) {
            return held();
        }
        if (key == Attr.CANCELLED) {
            return isCancelled();
        }
        if (key == Attr.TERMINATED) {
            return isEnded();
        }
        return key == Attr.RUN_STYLE ? Attr.RunStyle.ASYNC : null;
    }
}
