package io.github.reactorratelimit.fairness;

import reactor.core.publisher.BaseSubscriber;

/**
 * One request of the queue to its limiter. It belongs to no call. Cancelling leaves the limiter's queue; the limiter refunds what it
 * granted and has not delivered.
 */
final class LimiterRequest extends BaseSubscriber<Object> {

    /** Receives the answer, once, on any thread: what was granted, a denied decision, or an error. */
    interface Listener {
        void answered(LimiterRequest request, Object answer);
    }

    private final Listener listener;
    final RequestedPermits permits;

    /** Of the thread that signals. */
    private boolean isAnswered;

    LimiterRequest(Listener listener, RequestedPermits permits) {
        this.listener = listener;
        this.permits = permits;
    }

    /** A grant that comes although the request was cancelled still belongs to the queue. */
    @Override
    protected void hookOnNext(Object answer) {
        answer(answer);
    }

    @Override
    protected void hookOnError(Throwable failure) {
        answer(failure);
    }

    @Override
    protected void hookOnComplete() {
        answer(new IllegalStateException("the limiter gave no answer"));
    }

    private void answer(Object answer) {
        if (!isAnswered) {
            isAnswered = true;
            listener.answered(this, answer);
        }
    }
}
