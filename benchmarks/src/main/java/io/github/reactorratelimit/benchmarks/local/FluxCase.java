package io.github.reactorratelimit.benchmarks.local;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

import io.github.reactorratelimit.RateLimiter;
import io.github.resilience4j.reactor.ratelimiter.operator.RateLimiterOperator;
import java.util.concurrent.atomic.AtomicLong;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** A way to limit the elements of a Flux. */
interface FluxCase {

    String IN_HANDLE = " in handle";
    String BARE = "bare Flux";
    String MAP = "map";
    String OPERATOR = "Resilience4j, operator per element";

    /** Puts the limit on. */
    Flux<Integer> limit(Flux<Integer> source);

    /** The contender of this name. */
    static FluxCase of(String contender) {
        return switch (contender) {
            case Names.OURS -> new Ours(RateLimiter.of(Limit.GENEROUS.tokenBucket()));
            case Names.OURS_SMALL -> new Ours(RateLimiter.of(Limit.GENEROUS.smallTokenBucket()));
            case BARE -> source -> source;
            case MAP -> source -> source.map(value -> value);
            case OPERATOR -> new Resilience4jOperator(RateLimiterOperator.of(Limit.GENEROUS.resilience4j()));
            case Names.CLOCK_CAS + IN_HANDLE -> new InHandle(new OneKey.ClockAndCas(new AtomicLong(System.nanoTime())));
            default ->
                new InHandle(
                        OneKey.of(contender.substring(0, contender.length() - IN_HANDLE.length()), Limit.GENEROUS));
        };
    }

    /** The operator as the documentation shows it. */
    record Ours(RateLimiter limiter) implements FluxCase {
        @Override
        public Flux<Integer> limit(Flux<Integer> source) {
            return source.transform(limitRate(limiter));
        }
    }

    /** How the peers without an operator are used. */
    record InHandle(OneKey limiter) implements FluxCase {
        @Override
        public Flux<Integer> limit(Flux<Integer> source) {
            return source.handle((value, sink) -> {
                if (limiter.ask()) {
                    sink.next(value);
                } else {
                    sink.error(new StacklessException());
                }
            });
        }
    }

    /** Their operator takes a permit per subscription: each element is a subscription. */
    record Resilience4jOperator(RateLimiterOperator<Integer> operator) implements FluxCase {
        @Override
        public Flux<Integer> limit(Flux<Integer> source) {
            return source.concatMap(value -> Mono.just(value).transform(operator));
        }
    }
}
