package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import org.reactivestreams.Publisher;
import org.testng.annotations.Test;
import reactor.core.publisher.Flux;

/** Never waits, and is not denied. */
@Test
public class RejectingTckTest extends OperatorTck {

    @Override
    Publisher<Long> limit(Flux<Long> source) {
        return source.transform(limitRate(RateLimiter.of(TokenBucket.perSecond(1_000_000)), LimitSpec::reject));
    }
}
