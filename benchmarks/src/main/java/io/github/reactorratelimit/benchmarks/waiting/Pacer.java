package io.github.reactorratelimit.benchmarks.waiting;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.benchmarks.Contender;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.github.resilience4j.reactor.ratelimiter.operator.RateLimiterOperator;
import java.time.Duration;
import java.util.function.BiFunction;
import java.util.function.LongFunction;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Ways to pace the elements of a Flux. */
@SuppressWarnings("ImmutableEnumChecker")
public enum Pacer implements Contender {
    TOKEN_BUCKET_1(
            "token bucket, burst 1", 1, rate -> TokenBucket.perSecond(rate).withBurst(1)),
    TOKEN_BUCKET_2(
            "token bucket, burst 2", 2, rate -> TokenBucket.perSecond(rate).withBurst(2)),
    TOKEN_BUCKET_20(
            "token bucket, burst 20", 20, rate -> TokenBucket.perSecond(rate).withBurst(20)),
    STEPWISE_1("stepwise token bucket, burst 1", 1, rate -> stepwise(rate, 1)),
    STEPWISE_2("stepwise token bucket, burst 2", 2, rate -> stepwise(rate, 2)),
    STEPWISE_20("stepwise token bucket, burst 20", 20, rate -> stepwise(rate, 20)),
    GCRA_1("GCRA, burst 1", 1, rate -> Gcra.perSecond(rate).withBurst(1)),
    GCRA_2("GCRA, burst 2", 2, rate -> Gcra.perSecond(rate).withBurst(2)),
    GCRA_20("GCRA, burst 20", 20, rate -> Gcra.perSecond(rate).withBurst(20)),
    LEAKY("leaky bucket", 1, rate -> LeakyBucket.of(rate, Duration.ofSeconds(1))),
    INTERVAL(
            Kind.FLOOR,
            "Flux.interval",
            0,
            (source, interval) ->
                    source.zipWith(Flux.interval(interval).onBackpressureBuffer(), (element, tick) -> element)),
    DELAY_ELEMENTS(Kind.PEER, "Flux.delayElements", 0, Flux::delayElements),
    GUAVA(Kind.PEER, "Guava, blocking a thread", 1, Pacer::guava),
    RESILIENCE4J(Kind.PEER, "Resilience4j, an operator per element", 1, Pacer::resilience4j),
    BUCKET4J(Kind.PEER, "Bucket4j, asScheduler per element", 1, Pacer::bucket4j);

    private final Kind kind;
    private final String label;
    private final int immediate;
    private final BiFunction<Flux<Integer>, Duration, Flux<Integer>> operator;

    Pacer(String label, int burst, LongFunction<RateLimitPolicy> policy) {
        this(Kind.OURS, "reactor-ratelimit, " + label, burst, (source, interval) -> {
            RateLimitPolicy limit = policy.apply(Duration.ofSeconds(1).dividedBy(interval));
            return Flux.using(
                    () -> RateLimiter.of(limit), limiter -> source.transform(limitRate(limiter)), RateLimiter::dispose);
        });
    }

    Pacer(Kind kind, String label, int immediate, BiFunction<Flux<Integer>, Duration, Flux<Integer>> operator) {
        this.kind = kind;
        this.label = label;
        this.immediate = immediate;
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

    /** Elements that leave at the start without a wait. */
    int immediate() {
        return immediate;
    }

    Flux<Integer> pace(Flux<Integer> source, int perSecond) {
        return operator.apply(source, Duration.ofSeconds(1).dividedBy(perSecond));
    }

    private static TokenBucket stepwise(long rate, long burst) {
        return TokenBucket.of(1, Duration.ofSeconds(1).dividedBy(rate))
                .withBurst(burst)
                .stepwise();
    }

    @SuppressWarnings("UnstableApiUsage")
    private static Flux<Integer> guava(Flux<Integer> source, Duration interval) {
        var limiter = com.google.common.util.concurrent.RateLimiter.create(1e9 / interval.toNanos());
        return source.publishOn(Schedulers.boundedElastic()).doOnNext(element -> limiter.acquire());
    }

    /** Its operator uses one permit for each subscription. */
    private static Flux<Integer> resilience4j(Flux<Integer> source, Duration interval) {
        RateLimiterConfig config = RateLimiterConfig.custom()
                .limitForPeriod(1)
                .limitRefreshPeriod(interval)
                .timeoutDuration(Duration.ofMinutes(1))
                .build();
        var limiter = io.github.resilience4j.ratelimiter.RateLimiter.of("benchmark", config);
        return source.concatMap(element -> Mono.just(element).transformDeferred(RateLimiterOperator.of(limiter)));
    }

    private static Flux<Integer> bucket4j(Flux<Integer> source, Duration interval) {
        return Flux.using(
                () -> WaitContender.BUCKET4J.open(1, interval, 1),
                waiting -> source.concatMap(element -> waiting.permit().thenReturn(element)),
                WaitContender.Waiting::close);
    }
}
