package io.github.reactorratelimit;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.fairness.FairShare;
import io.github.reactorratelimit.fairness.FairShareBuilder;
import io.github.reactorratelimit.redis.FailureMode;
import io.github.reactorratelimit.redis.RedisStore;
import java.time.Duration;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The error of a denial says which limiter denied, and a time that can be waited for. */
class ExceededLimiterTest {

    private static final Duration PATIENCE = Duration.ofSeconds(30);

    static Stream<Arguments> uses() {
        return Stream.of(
                use("Mono", limiter -> Mono.just(1).transform(limitRate(limiter, spec -> spec.reject()))),
                use("Flux", limiter -> Flux.just(1, 2).transform(limitRate(limiter, spec -> spec.reject()))),
                use(
                        "unordered Flux",
                        limiter -> Flux.just(1, 2)
                                .transform(limitRate(
                                        limiter,
                                        spec -> spec.maxWait(Duration.ofMillis(1))
                                                .unordered(2)))),
                use(
                        "subscription",
                        limiter -> Flux.just(1, 2)
                                .transform(limitRate(
                                        limiter, spec -> spec.perSubscription().reject()))),
                use("reserve", limiter -> limiter.reserve("k", 1, Duration.ZERO)),
                use("lease", limiter -> limiter.acquireLease("k", 1, Duration.ZERO)));
    }

    private static Arguments use(String name, Function<RateLimiter, Publisher<?>> use) {
        return Arguments.of(name, use);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("uses")
    void itsLimiterIsNamed(String name, Function<RateLimiter, Publisher<?>> use) {
        RateLimitPolicy policy = name.equals("lease") ? ConcurrencyLimit.of(1) : TokenBucket.of(1, Duration.ofDays(1));
        RateLimiter limiter = RateLimiter.builder(policy).name("orders").build();
        Flux.from(use.apply(limiter)).onErrorComplete().blockLast(PATIENCE);

        Throwable exceeded = Flux.from(use.apply(limiter))
                .then()
                .materialize()
                .block(PATIENCE)
                .getThrowable();

        assertThat(exceeded)
                .isInstanceOfSatisfying(
                        RateLimitExceededException.class,
                        error -> assertThat(error.limiter()).contains("orders"))
                .hasMessageStartingWith("rate limit 'orders' exceeded: denied 1 of");
    }

    @Test
    void aFairShareNamesTheLimiterThatItShares() {
        RateLimiter limiter = RateLimiter.builder(TokenBucket.of(1, Duration.ofDays(1)))
                .name("orders")
                .build();
        RateLimiter tenants = FairShare.over(limiter, "api").build().limiter(FairShareBuilder.DEFAULT_CLASS);
        tenants.reserve("a", 1, Duration.ZERO).block(PATIENCE);

        Throwable exceeded = tenants.reserve("b", 1, Duration.ZERO)
                .materialize()
                .block(PATIENCE)
                .getThrowable();

        assertThat(exceeded).hasMessageStartingWith("rate limit 'orders' exceeded: denied 1 of");
    }

    /** A nanosecond is no time to come back after: each try costs a call that fails. */
    @Test
    void aDenialWithoutRedisNamesATimeThatCanBeWaitedFor() {
        RedisStore store = RedisStore.connectAside("redis://127.0.0.1:1");
        RateLimiter limiter = RateLimiter.builder(TokenBucket.perSecond(10))
                .store(store.whenUnavailable(FailureMode.closed()))
                .build();
        try {
            for (int i = 0; i < 10; i++) {
                Decision denied = limiter.tryAcquire("k").block(PATIENCE);
                assertThat(denied.allowed()).isFalse();
                assertThat(denied.retryAfter().orElseThrow()).isGreaterThan(Duration.ofMillis(1));
            }
        } finally {
            limiter.close().block(PATIENCE);
            store.close().block(PATIENCE);
        }
    }
}
