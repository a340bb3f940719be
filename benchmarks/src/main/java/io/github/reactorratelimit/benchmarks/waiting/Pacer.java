package io.github.reactorratelimit.benchmarks.waiting;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

import com.google.common.util.concurrent.RateLimiter;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.benchmarks.report.Contender;
import java.time.Duration;
import java.util.List;
import java.util.function.LongFunction;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** One way to pace the elements of a Flux. */
record Pacer(Contender contender, Pace pace) {

    interface Pace {

        Flux<Integer> apply(Flux<Integer> source, long perSecond);
    }

    /** A bucket that starts empty and may make up for 20 ms: who wakes late loses nothing. */
    static final Pacer OURS = new Pacer(
            Contender.ours("ours, token bucket"),
            ours(rate -> TokenBucket.perSecond(rate)
                    .withBurst(Math.max(2, rate / 50))
                    .withInitialTokens(0)));

    static final Pacer LEAKY =
            new Pacer(Contender.ours("ours, leaky bucket"), ours(rate -> LeakyBucket.of(rate, Duration.ofSeconds(1))));

    static final List<Pacer> ALL = List.of(
            OURS,
            new Pacer(
                    Contender.ours("ours, burst of 1"),
                    ours(rate -> TokenBucket.perSecond(rate).withBurst(1))),
            LEAKY,
            new Pacer(
                    Contender.peer("Flux.delayElements"),
                    (source, rate) -> source.delayElements(Duration.ofSeconds(1).dividedBy(rate))),
            new Pacer(Contender.peer("Guava, blocking a thread"), Pacer::guava),
            new Pacer(Contender.peer("Resilience4j, a Mono per element"), perElement(Resilience4j::open)),
            new Pacer(Contender.peer("Bucket4j, a Mono per element"), perElement(Bucket4j::open)),
            new Pacer(
                    Contender.floor("Flux.interval"),
                    (source, rate) -> source.zipWith(
                            Flux.interval(Duration.ofSeconds(1).dividedBy(rate)).onBackpressureBuffer(),
                            (element, tick) -> element)));

    private static Pace ours(LongFunction<RateLimitPolicy> policy) {
        return (source, rate) -> Flux.using(
                () -> io.github.reactorratelimit.RateLimiter.of(policy.apply(rate)),
                limiter -> source.transform(limitRate(limiter)),
                io.github.reactorratelimit.RateLimiter::dispose);
    }

    @SuppressWarnings("UnstableApiUsage")
    private static Flux<Integer> guava(Flux<Integer> source, long perSecond) {
        RateLimiter limiter = RateLimiter.create((double) perSecond);
        return source.publishOn(Schedulers.boundedElastic()).doOnNext(element -> limiter.acquire());
    }

    private static Pace perElement(Waiting.Opener opener) {
        return (source, rate) -> Flux.using(
                () -> opener.open(1, Duration.ofSeconds(1).dividedBy(rate)),
                limiter -> source.concatMap(element -> limiter.guard(0, Mono.just(element))),
                Waiting::close);
    }
}
