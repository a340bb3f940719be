package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import org.reactivestreams.Subscriber;
import org.testng.annotations.Test;
import reactor.core.CoreSubscriber;

@Test
public class OrderedSubscriberTckTest extends SubscriberTck {

    @Override
    Subscriber<Long> subscriberFor(CoreSubscriber<Long> downstream, SubscriptionTerms<Long> terms) {
        return new OrderedSubscriber<>(downstream, terms, Denial.error());
    }

    @Override
    RateLimiter limiter() {
        return RateLimiter.of(TokenBucket.perSecond(10_000).withBurst(1));
    }
}
