package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

import org.reactivestreams.Publisher;
import org.testng.annotations.Test;
import reactor.core.publisher.Flux;

/** Every other element is replaced. */
@Test
public class ReplacingTckTest extends OperatorTck {

    @Override
    Publisher<Long> limit(Flux<Long> source) {
        return source.transform(limitRate(
                Alternation.limiter(),
                spec -> spec.key(Alternation::everyOtherIsDenied).fallback((element, decision) -> -element)));
    }
}
