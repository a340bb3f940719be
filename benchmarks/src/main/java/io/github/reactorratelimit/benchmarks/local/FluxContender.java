package io.github.reactorratelimit.benchmarks.local;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.benchmarks.Contender;
import io.github.reactorratelimit.benchmarks.local.LocalContender.Decider;
import java.util.function.BiFunction;
import reactor.core.publisher.Flux;

/**
 * Operators that use a permit for each element of a Flux. A peer without such an operator is used in {@code
 * handle}.
 */
@SuppressWarnings("ImmutableEnumChecker")
public enum FluxContender implements Contender {
    OPERATOR(Kind.OURS, "reactor-ratelimit, limitRate", (source, limit) -> {
        RateLimiter limiter = limit.limiter();
        return source.transform(limitRate(limiter));
    }),
    CLOCK_AND_CAS(Kind.FLOOR, "clock and CAS in handle", inHandle(LocalContender.CLOCK_AND_CAS)),
    MAP(Kind.FLOOR, "map", (source, limit) -> source.map(value -> value)),
    BUCKET4J(Kind.PEER, "Bucket4j in handle", inHandle(LocalContender.BUCKET4J)),
    RESILIENCE4J(Kind.PEER, "Resilience4j in handle", inHandle(LocalContender.RESILIENCE4J)),
    GUAVA(Kind.PEER, "Guava in handle", inHandle(LocalContender.GUAVA));

    private final Kind kind;
    private final String label;
    private final BiFunction<Flux<Integer>, Limit, Flux<Integer>> operator;

    FluxContender(Kind kind, String label, BiFunction<Flux<Integer>, Limit, Flux<Integer>> operator) {
        this.kind = kind;
        this.label = label;
        this.operator = operator;
    }

    @Override
    public Kind kind() {
        return kind;
    }

    @Override
    public String label() {
        return label;
    }

    /** The source behind a new limiter. */
    Flux<Integer> limit(Flux<Integer> source, Limit limit) {
        return operator.apply(source, limit);
    }

    private static BiFunction<Flux<Integer>, Limit, Flux<Integer>> inHandle(LocalContender contender) {
        return (source, limit) -> {
            Decider decider = contender.open(limit, 1);
            return source.handle((value, sink) -> {
                if (decider.tryAcquire("", 1)) {
                    sink.next(value);
                } else {
                    sink.error(new MonoContender.DeniedException());
                }
            });
        };
    }
}
