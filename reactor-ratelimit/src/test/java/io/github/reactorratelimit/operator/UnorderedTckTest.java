package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import org.reactivestreams.Publisher;
import org.testng.annotations.Test;
import reactor.core.publisher.Flux;

/** Elements of three keys wait and overtake each other. */
@Test
public class UnorderedTckTest extends OperatorTck {

    @Override
    Publisher<Long> limit(Flux<Long> source) {
        RateLimiter limiter = RateLimiter.of(TokenBucket.perSecond(100_000).withBurst(1));
        return source.transform(limitRate(
                limiter, spec -> spec.key(element -> "key " + element % 3).unordered(4)));
    }
}
