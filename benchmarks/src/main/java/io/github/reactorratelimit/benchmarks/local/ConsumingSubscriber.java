package io.github.reactorratelimit.benchmarks.local;

import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.infra.Blackhole;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;

/** Asks for everything, takes it, and counts, so that a run that went wrong is noticed. One thread only. */
final class ConsumingSubscriber implements CoreSubscriber<Object> {

    private @Nullable Blackhole hole;
    private long elements;
    private long errors;
    private @Nullable Throwable lastError;

    @Override
    public void onSubscribe(Subscription subscription) {
        subscription.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(Object element) {
        elements++;
        consume(element);
    }

    @Override
    public void onError(Throwable error) {
        errors++;
        lastError = error;
        consume(error);
    }

    @Override
    public void onComplete() {}

    private void consume(Object signal) {
        if (hole != null) {
            hole.consume(signal);
        }
    }

    /** Forgets what was counted; what comes from now on goes to {@code hole}. */
    void restart(Blackhole hole) {
        this.hole = hole;
        elements = 0;
        errors = 0;
        lastError = null;
    }

    void expect(long elementsExpected, long errorsExpected) {
        if (elements != elementsExpected || errors != errorsExpected) {
            throw new IllegalStateException(
                    "expected " + elementsExpected + " elements and " + errorsExpected + " errors, got " + elements
                            + " and " + errors,
                    lastError);
        }
    }
}
