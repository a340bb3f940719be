package io.github.reactorratelimit.benchmarks.local;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

import io.github.reactorratelimit.RateLimiter;
import io.github.resilience4j.reactor.ratelimiter.operator.RateLimiterOperator;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.MonoOperator;
import reactor.core.publisher.Operators;

/** A call that is guarded by a limit: a Mono to subscribe to, each subscription a call. */
interface MonoCall {

    String OURS_PER_CALL = "reactor-ratelimit, assembled per call";
    String FLOOR = "least operator";
    String BARE = "bare Mono";
    String OPERATOR = "Resilience4j, operator";
    String OPERATOR_STACKLESS = "Resilience4j, operator, stackless";
    String IN_DEFER = " in defer";
    String IN_DEFER_STACKLESS = " in defer, stackless";

    /** What runs if it is allowed. */
    Mono<Integer> GUARDED = Mono.just(1);

    /** The call to subscribe to. */
    Mono<Integer> mono();

    /** The contender of this name. */
    static MonoCall of(String contender, Limit limit) {
        return switch (contender) {
            case Names.OURS -> assembled(ours(RateLimiter.of(limit.tokenBucket())));
            case Names.OURS_SMALL -> assembled(ours(RateLimiter.of(limit.smallTokenBucket())));
            case OURS_PER_CALL -> assembledPerCall(RateLimiter.of(limit.tokenBucket()));
            case FLOOR -> assembled(new LeastOperator(GUARDED, limit));
            case BARE -> assembled(GUARDED);
            case OPERATOR -> assembled(operator(limit, true));
            case OPERATOR_STACKLESS -> assembled(operator(limit, false));
            default -> inDefer(contender, limit);
        };
    }

    private static MonoCall assembled(Mono<Integer> mono) {
        return () -> mono;
    }

    private static MonoCall assembledPerCall(RateLimiter limiter) {
        return () -> ours(limiter);
    }

    private static Mono<Integer> ours(RateLimiter limiter) {
        return GUARDED.transform(limitRate(limiter, spec -> spec.key("key").reject()))
                .as(Mono::from);
    }

    private static Mono<Integer> operator(Limit limit, boolean stackTraces) {
        return GUARDED.transform(RateLimiterOperator.of(limit.resilience4j(stackTraces)))
                .as(Mono::from);
    }

    private static MonoCall inDefer(String contender, Limit limit) {
        boolean stackless = contender.endsWith(IN_DEFER_STACKLESS);
        String suffix = stackless ? IN_DEFER_STACKLESS : IN_DEFER;
        OneKey limiter = OneKey.of(contender.substring(0, contender.length() - suffix.length()), limit);
        Supplier<RuntimeException> error =
                stackless ? StacklessException::new : () -> new IllegalStateException("denied");
        return assembled(Mono.defer(() -> limiter.ask() ? GUARDED : Mono.error(error.get())));
    }

    /** The least that an operator must do: read the clock, compare, take by one CAS, subscribe or signal. */
    final class LeastOperator extends MonoOperator<Integer, Integer> {

        private final AtomicLong next;

        LeastOperator(Mono<Integer> source, Limit limit) {
            super(source);
            boolean allowed = limit.equals(Limit.GENEROUS);
            next = new AtomicLong(
                    System.nanoTime() + (allowed ? 0 : limit.period().toNanos()));
        }

        @Override
        public void subscribe(CoreSubscriber<? super Integer> actual) {
            long seen = next.get();
            long now = System.nanoTime();
            if (now - seen < 0) {
                Operators.error(actual, new StacklessException());
            } else if (next.compareAndSet(seen, now)) {
                source.subscribe(actual);
            } else {
                Operators.error(actual, new StacklessException());
            }
        }
    }
}
