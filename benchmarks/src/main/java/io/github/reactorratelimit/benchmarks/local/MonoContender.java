package io.github.reactorratelimit.benchmarks.local;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

import io.github.bucket4j.Bucket;
import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.benchmarks.Contender;
import io.github.resilience4j.bulkhead.Bulkhead;
import io.github.resilience4j.bulkhead.BulkheadConfig;
import io.github.resilience4j.reactor.bulkhead.operator.BulkheadOperator;
import io.github.resilience4j.reactor.ratelimiter.operator.RateLimiterOperator;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.stream.Stream;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.MonoOperator;
import reactor.core.publisher.Operators;

/** Monos that request permits when they are subscribed to. They are assembled once. */
@SuppressWarnings("ImmutableEnumChecker")
public enum MonoContender implements Contender {
    TRY_ACQUIRE(
            Kind.OURS, "reactor-ratelimit, tryAcquire", limit -> limit.limiter().tryAcquire(Calls.KEY)),
    OPERATOR(
            Kind.OURS,
            "reactor-ratelimit, limitRate",
            limit -> Calls.VALUE.transform(
                    limitRate(limit.limiter(), spec -> spec.key(Calls.KEY).reject()))),
    CONCURRENCY(
            Kind.OURS,
            "reactor-ratelimit, limitRate of a ConcurrencyLimit",
            limit -> Calls.VALUE.transform(limitRate(
                    limit.limiter(ConcurrencyLimit.of(limit.burst), 1),
                    spec -> spec.key(Calls.KEY).reject()))),
    ACQUIRE_ALL(Kind.OURS, "reactor-ratelimit, acquireAll of three limiters", Calls::acquireAll),
    REFUND(Kind.OURS, "reactor-ratelimit, tryAcquire and refund", limit -> {
        RateLimiter limiter = limit.limiter();
        return limiter.tryAcquire(Calls.KEY)
                .flatMap(decision -> limiter.refund(decision).thenReturn(decision));
    }),

    BUCKET4J(Kind.PEER, "Bucket4j in defer", limit -> {
        Bucket bucket = limit.bucket4j(1);
        return Calls.defer(() -> bucket.tryConsume(1));
    }),
    BUCKET4J_THREE(Kind.PEER, "Bucket4j in defer, three bandwidths", limit -> {
        Bucket bucket = limit.bucket4j(3);
        return Calls.defer(() -> bucket.tryConsume(1));
    }),
    BUCKET4J_REFUND(Kind.PEER, "Bucket4j in defer, tryConsume and addTokens", limit -> {
        Bucket bucket = limit.bucket4j(1);
        return Calls.defer(() -> {
            boolean consumed = bucket.tryConsume(1);
            bucket.addTokens(1);
            return consumed;
        });
    }),
    GUAVA(Kind.PEER, "Guava in defer", limit -> {
        var limiter = limit.guava();
        return Calls.defer(limiter::tryAcquire);
    }),
    RESILIENCE4J(
            Kind.PEER,
            "Resilience4j, operator",
            limit -> Calls.VALUE.transform(RateLimiterOperator.of(limit.resilience4j()))),
    BULKHEAD(
            Kind.PEER,
            "Resilience4j, operator of a bulkhead",
            limit -> Calls.VALUE.transform(BulkheadOperator.of(Bulkhead.of(
                    "benchmark",
                    BulkheadConfig.custom()
                            .maxConcurrentCalls(limit.burst)
                            .maxWaitDuration(Duration.ZERO)
                            .build())))),

    LEAST(Kind.FLOOR, "least operator", limit -> new LeastOperator(Calls.VALUE, limit)),
    BARE(Kind.FLOOR, "bare Mono", limit -> Calls.VALUE);

    private final Kind kind;
    private final String label;
    private final Function<Limit, Mono<?>> opener;

    MonoContender(Kind kind, String label, Function<Limit, Mono<?>> opener) {
        this.kind = kind;
        this.label = label;
        this.opener = opener;
    }

    @Override
    public Kind kind() {
        return kind;
    }

    @Override
    public String label() {
        return label;
    }

    /** The Mono to subscribe to, with a new limiter. */
    Mono<?> open(Limit limit) {
        return opener.apply(limit);
    }

    /** How the constants are built. */
    private static final class Calls {

        static final String KEY = "customer-4711";

        /** The call that a limit guards. */
        static final Mono<Integer> VALUE = Mono.just(1);

        private Calls() {}

        static Mono<Integer> defer(BooleanSupplier limiter) {
            return Mono.defer(() -> limiter.getAsBoolean() ? VALUE : Mono.error(new DeniedException()));
        }

        /**
         * The factory of one request is looked up by its type, because its name differs between jars of the
         * core.
         */
        static Mono<?> acquireAll(Limit limit) {
            Method request = Arrays.stream(RateLimiter.class.getMethods())
                    .filter(method ->
                            Arrays.equals(method.getParameterTypes(), new Class<?>[] {RateLimiter.class, String.class})
                                    && method.getReturnType().isRecord())
                    .findFirst()
                    .orElseThrow();
            List<?> requests = Stream.of(1, 2, 3)
                    .map(factor -> invoke(request, limit.limiter(limit.wider(factor), 1)))
                    .toList();
            return RateLimiter.acquireAll(unchecked(requests));
        }

        private static Object invoke(Method request, RateLimiter limiter) {
            try {
                return request.invoke(null, limiter, KEY);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        }

        @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
        private static <T> List<T> unchecked(List<?> list) {
            return (List<T>) list;
        }
    }

    /** The cheapest error. */
    static final class DeniedException extends RuntimeException {

        private static final long serialVersionUID = 1;

        DeniedException() {
            super("denied", null, false, false);
        }
    }

    /** Reads the clock, decides by one CAS, and subscribes or signals an error. */
    private static final class LeastOperator extends MonoOperator<Integer, Integer> {

        private final FastClock clock;
        private final AtomicLong next;

        LeastOperator(Mono<Integer> source, Limit limit) {
            super(source);
            clock = new FastClock(limit.speed);
            next = new AtomicLong(limit == Limit.PER_DAY ? limit.period.toNanos() : 0);
        }

        @Override
        public void subscribe(CoreSubscriber<? super Integer> actual) {
            long seen = next.get();
            long now = clock.currentTimeNanos();
            if (now >= seen && next.compareAndSet(seen, now)) {
                source.subscribe(actual);
            } else {
                Operators.error(actual, new DeniedException());
            }
        }
    }
}
