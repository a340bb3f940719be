package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

import io.github.reactorratelimit.TokenBucket;
import org.reactivestreams.Publisher;
import org.testng.annotations.Test;
import reactor.core.publisher.Flux;

/** Every element finds its permit. */
@Test
public class PassingTckTest extends OperatorTck {

    @Override
    Publisher<Long> limit(Flux<Long> source) {
        return source.transform(limitRate(TokenBucket.perSecond(1_000_000)));
    }
}
