package io.github.reactorratelimit.fairness;

import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Operators;

/** One request of the queue to its limiter. It belongs to no call. */
final class LimiterRequest implements CoreSubscriber<Object> {

    /** Receives the answer, once, on any thread: what was granted, a denied decision, or an error. */
    interface Listener {
        void answered(LimiterRequest request, Object answer);
    }

    private final Listener listener;
    final RequestedPermits permits;
    private volatile @Nullable Subscription subscription;

    /** Of the thread that signals. */
    private boolean isAnswered;

    LimiterRequest(Listener listener, RequestedPermits permits) {
        this.listener = listener;
        this.permits = permits;
    }

    @Override
    public void onSubscribe(Subscription upstream) {
        if (Operators.validate(subscription, upstream)) {
            subscription = upstream;
            upstream.request(Long.MAX_VALUE);
        }
    }

    /** A grant that comes although the request was withdrawn still belongs to the queue. */
    @Override
    public void onNext(Object answer) {
        answer(answer);
    }

    @Override
    public void onError(Throwable failure) {
        answer(failure);
    }

    @Override
    public void onComplete() {
        answer(new IllegalStateException("the limiter gave no answer"));
    }

    private void answer(Object answer) {
        if (!isAnswered) {
            isAnswered = true;
            listener.answered(this, answer);
        }
    }

    /** Leaves the limiter's queue; the limiter refunds what it granted and has not delivered. */
    void withdraw() {
        Subscription upstream = subscription;
        if (upstream != null) {
            upstream.cancel();
        }
    }
}
