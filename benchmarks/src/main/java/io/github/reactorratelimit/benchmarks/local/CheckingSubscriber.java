package io.github.reactorratelimit.benchmarks.local;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.JointDecision;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.infra.Blackhole;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;

/**
 * Requests everything, consumes it and counts, so that a benchmark of the wrong path fails. For one thread.
 */
final class CheckingSubscriber implements CoreSubscriber<Object> {

    private @Nullable Blackhole hole;
    private long allowed;
    private long denied;
    private @Nullable Throwable lastError;

    @Override
    public void onSubscribe(Subscription subscription) {
        subscription.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(Object element) {
        if ((element instanceof Decision decision && !decision.allowed())
                || (element instanceof JointDecision joint && !joint.allowed())) {
            denied++;
        } else {
            allowed++;
        }
        consume(element);
    }

    @Override
    public void onError(Throwable error) {
        denied++;
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

    /** Counts from zero; signals go to {@code hole}. */
    void restart(Blackhole hole) {
        this.hole = hole;
        allowed = 0;
        denied = 0;
    }

    void expect(long allowedExpected, long deniedExpected) {
        if (allowed != allowedExpected || denied != deniedExpected) {
            throw new IllegalStateException(
                    "expected " + allowedExpected + " allowed and " + deniedExpected + " denied, got " + allowed
                            + " and " + denied,
                    lastError);
        }
    }
}
