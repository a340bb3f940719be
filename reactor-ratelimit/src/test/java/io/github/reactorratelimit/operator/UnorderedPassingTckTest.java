package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import org.reactivestreams.Publisher;
import org.testng.annotations.Test;
import reactor.core.publisher.Flux;

/** Elements may overtake each other, but every one finds its permit. */
@Test
public class UnorderedPassingTckTest extends OperatorTck {

    @Override
    Publisher<Long> limit(Flux<Long> source) {
        RateLimiter limiter = RateLimiter.of(TokenBucket.perSecond(1_000_000));
        return source.transform(limitRate(
                limiter, spec -> spec.key(element -> "key " + element % 3).unordered(4)));
    }
}
