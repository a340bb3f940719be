package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.RateLimiter;
import java.util.Objects;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import org.reactivestreams.tck.SubscriberWhiteboxVerification;
import reactor.core.CoreSubscriber;

/** The Reactive Streams TCK for the subscriber that an operator puts on its source; the probe stands downstream. */
abstract class SubscriberTck extends SubscriberWhiteboxVerification<Long> {

    SubscriberTck() {
        super(OperatorTck.environment());
    }

    abstract Subscriber<Long> subscriberFor(CoreSubscriber<Long> downstream, SubscriptionTerms<Long> terms);

    abstract RateLimiter limiter();

    @Override
    public Subscriber<Long> createSubscriber(WhiteboxSubscriberProbe<Long> probe) {
        Downstream downstream = new Downstream(probe);
        SubscriptionTerms<Long> terms =
                new SubscriptionTerms.Source<Long>(limiter(), LimitSpec.defaults()).orFail(downstream);
        return subscriberFor(downstream, Objects.requireNonNull(terms));
    }

    @Override
    public Long createElement(int element) {
        return (long) element;
    }

    private record Downstream(WhiteboxSubscriberProbe<Long> probe) implements CoreSubscriber<Long> {

        @Override
        public void onSubscribe(Subscription s) {
            probe.registerOnSubscribe(new SubscriberPuppet() {
                @Override
                public void triggerRequest(long elements) {
                    s.request(elements);
                }

                @Override
                public void signalCancel() {
                    s.cancel();
                }
            });
        }

        @Override
        public void onNext(Long element) {
            probe.registerOnNext(Objects.requireNonNull(element));
        }

        @Override
        public void onError(Throwable failure) {
            probe.registerOnError(Objects.requireNonNull(failure));
        }

        @Override
        public void onComplete() {
            probe.registerOnComplete();
        }
    }
}
