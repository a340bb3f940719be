package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

import io.github.reactorratelimit.RateLimiter;
import org.reactivestreams.Publisher;
import org.testng.annotations.Test;
import reactor.core.publisher.Flux;

/** The subscription is denied, and its fallback is subscribed instead. */
@Test
public class FallbackTckTest extends OperatorTck {

    @Override
    Publisher<Long> limit(Flux<Long> source) {
        RateLimiter limiter = Alternation.limiter();
        return source.transform(limitRate(
                limiter, spec -> spec.key(Alternation.DENIED).perSubscription().fallback(decision -> source)));
    }
}
