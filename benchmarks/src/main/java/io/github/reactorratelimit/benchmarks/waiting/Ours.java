package io.github.reactorratelimit.benchmarks.waiting;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;
import java.util.Objects;
import java.util.stream.IntStream;
import reactor.core.publisher.Mono;

/** This library's operator. */
final class Ours implements Waiting {

    private final RateLimiter limiter;
    private final String[] keys;

    private Ours(RateLimiter limiter, String[] keys) {
        this.limiter = limiter;
        this.keys = keys;
    }

    static Waiting open(int keys, Duration interval) {
        String[] names = IntStream.range(0, keys).mapToObj(key -> "key-" + key).toArray(String[]::new);
        return new Ours(RateLimiter.of(TokenBucket.of(1, interval)), names);
    }

    @Override
    public <T> Mono<T> guard(int key, Mono<T> call) {
        return call.transform(limitRate(limiter, spec -> spec.key(keys[key])));
    }

    @Override
    public Duration untilNext(int key) {
        return Objects.requireNonNull(limiter.peek(keys[key]).block())
                .retryAfter()
                .orElse(Duration.ZERO);
    }

    @Override
    public void close() {
        limiter.dispose();
    }
}
