package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.Decision;
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
    final SubscriptionTerms<T> terms;
    final Denial<T> denial;

    private @Nullable Subscription s;

    /** What downstream requested and did not get. */
    private volatile long requested;

    ElementSubscriber(CoreSubscriber<? super T> actual, SubscriptionTerms<T> terms, Denial<T> denial) {
        this.actual = actual;
        this.terms = terms;
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

    /** Emits an element whose permits are there, or what replaces one that was denied. */
    abstract void emit(T element);

    /** A denied element is left out. */
    abstract void skip();

    /** Ends the stream; upstream is cancelled already, the element discarded. */
    abstract void fail(Throwable failure);

    /** Does what the spec says to an element that was denied. */
    final void denied(T element, Decision decision) {
        T other;
        try {
            other = denial.insteadOf(element, decision);
        } catch (Throwable failure) {
            Throwable mapped = Operators.onOperatorError(upstream(), failure, element, currentContext());
            discard(element);
            fail(mapped);
            return;
        }
        if (element != other) {
            discard(element);
        }
        if (other == null) {
            skip();
        } else {
            emit(other);
        }
    }

    /** For a failure that comes too late: of a limiter that denies or closes after a cancel it is no news. */
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
