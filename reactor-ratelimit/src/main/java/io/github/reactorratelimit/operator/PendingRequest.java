package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.RateLimitException;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Scannable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * One request for permits until it is answered. It has the Context of the stream's subscriber, which carries
 * its deadline. Cancelling leaves the queue; an answer that was on its way may still come, and its receiver
 * refunds it.
 *
 * @param <A> the answer
 */
final class PendingRequest<A> implements CoreSubscriber<A>, Scannable {

    @SuppressWarnings("rawtypes")
    private static final AtomicReferenceFieldUpdater<PendingRequest, Subscription> S =
            AtomicReferenceFieldUpdater.newUpdater(PendingRequest.class, Subscription.class, "s");

    private final CoreSubscriber<?> actual;
    private final Mono<? extends A> request;
    private final Consumer<? super A> onAnswer;
    private final Predicate<Throwable> onFailure;
    private volatile @Nullable Subscription s;
    private boolean answered;

    /**
     * @param onAnswer gets the answer, at most once
     * @param onFailure gets a failure, at most once; false if the receiver has cancelled
     */
    PendingRequest(
            CoreSubscriber<?> actual,
            Mono<? extends A> request,
            Consumer<? super A> onAnswer,
            Predicate<Throwable> onFailure) {
        this.actual = actual;
        this.request = request;
        this.onAnswer = onAnswer;
        this.onFailure = onFailure;
    }

    /**
     * Sends the request. Through the general {@code subscribe}, which restores the subscriber's thread locals
     * around the answer where automatic context propagation is on.
     */
    void send() {
        Subscriber<A> self = this;
        request.subscribe(self);
    }

    void cancel() {
        Operators.terminate(S, this);
    }

    @Override
    public Context currentContext() {
        return actual.currentContext();
    }

    @Override
    public void onSubscribe(Subscription s) {
        if (Operators.setOnce(S, this, s)) {
            s.request(Long.MAX_VALUE);
        }
    }

    @Override
    public void onNext(A answer) {
        if (!answered) {
            answered = true;
            onAnswer.accept(answer);
        }
    }

    @Override
    public void onError(Throwable failure) {
        boolean late = answered || !onFailure.test(failure);
        // A limiter that closes or denies after the subscriber cancelled has no receiver.
        if (late && !(failure instanceof RateLimitException)) {
            Operators.onErrorDropped(failure, currentContext());
        }
    }

    @Override
    public void onComplete() {
        if (!answered) {
            onError(new IllegalStateException("the limiter completed without an answer"));
        }
    }

    @Override
    @SuppressWarnings("rawtypes")
    public @Nullable Object scanUnsafe(Attr key) {
        if (key == Attr.PARENT) {
            return s;
        }
        if (key == Attr.ACTUAL) {
            return actual;
        }
        if (key == Attr.CANCELLED) {
            return s == Operators.cancelledSubscription();
        }
        return key == Attr.RUN_STYLE ? Attr.RunStyle.SYNC : null;
    }
}
