package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

import io.github.reactorratelimit.TokenBucket;
import org.reactivestreams.Publisher;
import org.testng.annotations.Test;
import reactor.core.publisher.Flux;

/** Nearly every element waits. */
@Test
public class WaitingTckTest extends OperatorTck {

    @Override
    Publisher<Long> limit(Flux<Long> source) {
        return source.transform(limitRate(TokenBucket.perSecond(100_000).withBurst(1)));
    }
}
