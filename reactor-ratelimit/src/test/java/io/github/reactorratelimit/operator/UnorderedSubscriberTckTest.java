package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import org.reactivestreams.Subscriber;
import org.testng.annotations.Test;
import reactor.core.CoreSubscriber;

@Test
public class UnorderedSubscriberTckTest extends SubscriberTck {

    @Override
    Subscriber<Long> subscriberFor(CoreSubscriber<Long> downstream, SubscriptionTerms<Long> terms) {
        return new UnorderedSubscriber<>(downstream, terms, Denial.error(), 4);
    }

    @Override
    RateLimiter limiter() {
        return RateLimiter.of(TokenBucket.perSecond(10_000).withBurst(1));
    }
}
