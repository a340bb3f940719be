package io.github.reactorratelimit.benchmarks.waiting;

import io.github.resilience4j.ratelimiter.RateLimiter;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.github.resilience4j.reactor.ratelimiter.operator.RateLimiterOperator;
import java.time.Duration;
import java.util.stream.IntStream;
import reactor.core.publisher.Mono;

/** Resilience4j's operator for Reactor. */
final class Resilience4j implements Waiting {

    private final RateLimiter[] limiters;

    private Resilience4j(RateLimiter[] limiters) {
        this.limiters = limiters;
    }

    static Waiting open(int keys, Duration interval) {
        RateLimiterConfig config = RateLimiterConfig.custom()
                .limitForPeriod(1)
                .limitRefreshPeriod(interval)
                .timeoutDuration(Duration.ofMinutes(1))
                .build();
        return new Resilience4j(IntStream.range(0, keys)
                .mapToObj(key -> RateLimiter.of("key-" + key, config))
                .toArray(RateLimiter[]::new));
    }

    @Override
    public <T> Mono<T> guard(int key, Mono<T> call) {
        return call.transformDeferred(RateLimiterOperator.of(limiters[key]));
    }

    @Override
    public Duration untilNext(int key) {
        return Duration.ofNanos(limiters[key].reservePermission());
    }

    @Override
    public void close() {}
}
