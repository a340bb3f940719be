package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import org.reactivestreams.Publisher;
import org.testng.annotations.Test;
import reactor.core.publisher.Flux;

/** A stream that is charged while it runs, and waits for what it reserves. */
@Test
public class ChargeStreamTckTest extends OperatorTck {

    @Override
    Publisher<Long> limit(Flux<Long> source) {
        RateLimiter limiter = RateLimiter.of(TokenBucket.perSecond(1_000).withBurst(1));
        DirectLimiter.of(limiter).tryAcquireNow(LimitSpec.DEFAULT_KEY, 1);
        return source.transform(limitRate(limiter, spec -> spec.chargeElements(element -> 1)));
    }
}
