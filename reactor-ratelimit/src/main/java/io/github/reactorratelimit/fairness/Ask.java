package io.github.reactorratelimit.fairness;

import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Operators;

/** One request of the line at its limiter: for permits, and for nobody in particular. */
final class Ask implements CoreSubscriber<Object> {

    /** Told of the outcome, once, on any thread: what was granted, a denied decision, or an error. */
    interface Listener {
        void answered(Ask ask, Object outcome);
    }

    private final Listener listener;
    final Terms terms;
    private volatile @Nullable Subscription subscription;

    /** Of the thread that signals. */
    private boolean told;

    Ask(Listener listener, Terms terms) {
        this.listener = listener;
        this.terms = terms;
    }

    @Override
    public void onSubscribe(Subscription upstream) {
        if (Operators.validate(subscription, upstream)) {
            subscription = upstream;
            upstream.request(Long.MAX_VALUE);
        }
    }

    /** What comes although it was withdrawn is still the line's to use or to give back. */
    @Override
    public void onNext(Object outcome) {
        tell(outcome);
    }

    @Override
    public void onError(Throwable failure) {
        tell(failure);
    }

    @Override
    public void onComplete() {
        tell(new IllegalStateException("the limiter gave no answer"));
    }

    private void tell(Object outcome) {
        if (!told) {
            told = true;
            listener.answered(this, outcome);
        }
    }

    /** Leaves the limiter's line; what was granted and not told yet is given back by the limiter. */
    void withdraw() {
        Subscription upstream = subscription;
        if (upstream != null) {
            upstream.cancel();
        }
    }
}
