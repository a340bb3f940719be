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
 * One question to the limiter on its way to an answer. Asks with the Context of the stream's
 * subscriber, which carries its deadline. Cancelling leaves the line; an answer that was under way may
 * still come, and whoever handles it gives its permits back.
 *
 * @param <A> a decision or a lease
 */
abstract class Turn<A> implements CoreSubscriber<A>, Scannable {

    @SuppressWarnings("rawtypes")
    private static final AtomicReferenceFieldUpdater<Turn, Subscription> S =
            AtomicReferenceFieldUpdater.newUpdater(Turn.class, Subscription.class, "s");

    private final CoreSubscriber<?> actual;
    private volatile @Nullable Subscription s;
    private boolean answered;

    Turn(CoreSubscriber<?> actual) {
        this.actual = actual;
    }

    /** A turn that only passes on what it hears; {@code onFailure} tells whether anybody still waited. */
    static <A> Turn<A> of(CoreSubscriber<?> actual, Consumer<A> onAnswer, Predicate<Throwable> onFailure) {
        return new Turn<>(actual) {
            @Override
            void answered(A answer) {
                onAnswer.accept(answer);
            }

            @Override
            boolean failed(Throwable failure) {
                return onFailure.test(failure);
            }
        };
    }

    /** The limiter's answer, at most once. */
    abstract void answered(A answer);

    /**
     * The limiter failed, at most once.
     *
     * @return false if nobody waits for this turn any more
     */
    abstract boolean failed(Throwable failure);

    /**
     * Asks the question. Through the general {@code subscribe}, which restores the subscriber's thread
     * locals around the answer where automatic context propagation is on.
     */
    final void ask(Mono<A> question) {
        Subscriber<A> self = this;
        question.subscribe(self);
    }

    final void cancel() {
        Operators.terminate(S, this);
    }

    @Override
    public final Context currentContext() {
        return actual.currentContext();
    }

    @Override
    public final void onSubscribe(Subscription s) {
        if (Operators.setOnce(S, this, s)) {
            s.request(Long.MAX_VALUE);
        }
    }

    @Override
    public final void onNext(A answer) {
        if (!answered) {
            answered = true;
            answered(answer);
        }
    }

    @Override
    public final void onError(Throwable failure) {
        boolean late = answered || !failed(failure);
        // A limiter that closes or denies after the subscriber left has nobody to tell.
        if (late && !(failure instanceof RateLimitException)) {
            Operators.onErrorDropped(failure, currentContext());
        }
    }

    @Override
    public final void onComplete() {
        if (!answered) {
            failed(new IllegalStateException("the limiter completed without an answer"));
        }
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
        if (key == Attr.CANCELLED) {
            return s == Operators.cancelledSubscription();
        }
        return key == Attr.RUN_STYLE ? Attr.RunStyle.SYNC : null;
    }
}
