package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import org.reactivestreams.Publisher;
import org.testng.annotations.Test;
import reactor.core.publisher.Flux;

/** The subscription of a Mono waits for its permit. */
@Test
public class MonoTckTest extends OperatorTck {

    @Override
    Publisher<Long> limit(Flux<Long> source) {
        RateLimiter limiter = RateLimiter.of(TokenBucket.perSecond(1_000).withBurst(1));
        DirectLimiter.of(limiter).tryAcquireNow(LimitSpec.DEFAULT_KEY, 1);
        return source.singleOrEmpty().transform(limitRate(limiter));
    }

    @Override
    public long maxElementsFromPublisher() {
        return 1;
    }
}
