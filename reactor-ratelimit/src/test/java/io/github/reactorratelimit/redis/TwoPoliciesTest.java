package io.github.reactorratelimit.redis;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Processes that decide for one key by different policies, as in a rollout without a policy version: each policy keeps its bound. */
@ExtendWith(RedisExtension.class)
class TwoPoliciesTest {

    private static final Duration PATIENCE = ofSeconds(30);
    private static final String KEY = "k";

    private final StatefulRedisConnection<String, String> connection;
    private final String name = "two-policies-" + UUID.randomUUID();

    TwoPoliciesTest(Standalone redis) {
        this.connection = redis.connect();
    }

    @AfterEach
    void close() {
        connection.close();
    }

    private RedisStore store() {
        return RedisStore.of(connection).withoutSelfTest().withoutDenialCache().withDeadline(PATIENCE);
    }

    private RateLimiter process(RateLimitPolicy policy) {
        return RateLimiter.builder(policy).name(name).store(store()).build();
    }

    private String value() {
        return connection.sync().get("ratelimit:{" + name + ":" + KEY + "}");
    }

    private long timeToLive() {
        return connection.sync().pttl("ratelimit:{" + name + ":" + KEY + "}");
    }

    private static boolean take(RateLimiter limiter, long permits) {
        return limiter.tryAcquire(KEY, permits).block(PATIENCE).allowed();
    }

    private static long allowedInTurn(int requests, RateLimiter... processes) {
        return Flux.range(0, requests)
                .concatMap(i -> processes[i % processes.length].tryAcquire(KEY))
                .filter(Decision::allowed)
                .count()
                .block(PATIENCE);
    }

    private static FixedWindow window(long limit) {
        return FixedWindow.of(limit, ofDays(300)).fromFirstRequest();
    }

    static Stream<Arguments> rollouts() {
        TokenBucket bucket = TokenBucket.of(10, ofHours(2));
        FixedWindow window = window(10);
        return Stream.of(
                arguments(20, List.of(bucket, window)),
                arguments(20, List.of(window, new LeakyBucket(10, ofDays(9), 5))),
                arguments(20, List.of(bucket, SlidingWindowLog.of(10, ofDays(3)))),
                arguments(
                        40,
                        List.of(
                                bucket,
                                window,
                                SlidingWindowCounter.of(10, ofDays(300)),
                                new TokenBucket(10, 10, ofDays(3)).stepwise())),
                arguments(10, List.of(bucket, Policies.all(bucket, window(100)))),
                arguments(20, List.of(window, Policies.all(bucket, window(100), window(70)))),
                arguments(
                        30,
                        List.of(
                                Policies.all(bucket, window),
                                Policies.all(window, SlidingWindowCounter.of(10, ofDays(300))),
                                Policies.all(bucket, SlidingWindowCounter.of(10, ofDays(300))))));
    }

    @ParameterizedTest
    @MethodSource("rollouts")
    void eachPolicyOfARolloutKeepsItsBound(int most, List<RateLimitPolicy> policies) {
        long allowed = allowedInTurn(120, policies.stream().map(this::process).toArray(RateLimiter[]::new));

        assertThat(allowed).isBetween(10L, (long) most);
    }

    @Test
    void bucketThatRecoversSoonKeepsTheUsageOfOneThatDoesNot() {
        TokenBucket soon = TokenBucket.of(10, ofMillis(50));
        RateLimiter before = process(TokenBucket.of(10, ofHours(2)));
        RateLimiter after = process(soon);
        RateLimiter withPart = process(Policies.all(soon, window(5)));

        assertThat(allowedInTurn(20, before)).isEqualTo(10);
        assertThat(take(after, 1)).isFalse();
        Await.until("the newer policy recovers in its own time", () -> take(after, 10));
        assertThat(take(before, 1)).isFalse();
        Await.until("also with a part more", () -> take(withPart, 5));
        Await.until("and again", () -> take(after, 10));
        assertThat(take(before, 1)).isFalse();
        assertThat(timeToLive()).isGreaterThan(7_000_000);

        before.reset(KEY).block(PATIENCE);
        assertThat(take(before, 10)).isTrue();
    }

    static Stream<Arguments> ratesOfOneAlgorithm() {
        return Stream.of(
                arguments(TokenBucket.of(10, ofHours(2)), TokenBucket.of(10, ofHours(1)), 20),
                arguments(TokenBucket.of(10, ofDays(20)), TokenBucket.of(10, ofHours(1)), 20),
                arguments(TokenBucket.of(10, ofHours(2)), TokenBucket.of(100, ofHours(2)), 110),
                arguments(new LeakyBucket(1, ofDays(20), 5), new LeakyBucket(1, ofHours(1), 5), 2),
                arguments(window(10), FixedWindow.of(10, ofHours(2)).fromFirstRequest(), 20),
                arguments(SlidingWindowLog.of(10, ofDays(3)), SlidingWindowLog.of(10, ofHours(2)), 20));
    }

    @ParameterizedTest
    @MethodSource("ratesOfOneAlgorithm")
    void eachPolicyOfOneAlgorithmKeepsItsBound(RateLimitPolicy one, RateLimitPolicy other, int most) {
        assertThat(allowedInTurn(240, process(one), process(other))).isBetween(1L, (long) most);
    }

    @Test
    void partThatARolloutAddsKeepsWhatItCounted() {
        RateLimiter before = process(TokenBucket.of(10, ofHours(2)));
        RateLimiter after = process(Policies.all(TokenBucket.of(10, ofHours(2)), window(3)));
        for (int i = 0; i < 3; i++) {
            assertThat(take(after, 1)).isTrue();
            assertThat(take(before, 1)).isTrue();
        }

        assertThat(take(after, 1)).isFalse();
        assertThat(allowedInTurn(20, before)).isEqualTo(4);
    }

    @Test
    void policyOfAKeyThatOneProcessRefreshesKeepsBothBounds() {
        AtomicReference<RateLimitPolicy> plan = new AtomicReference<>(TokenBucket.of(10, ofHours(2)));
        List<RateLimiter> processes = Stream.generate(() -> RateLimiter.builder(TokenBucket.of(1, ofHours(1)))
                        .name(name)
                        .policyPerKey(key -> Mono.fromSupplier(plan::get), ofHours(1))
                        .store(store())
                        .build())
                .limit(3)
                .toList();
        long allowed = allowedInTurn(3, processes.toArray(RateLimiter[]::new));
        plan.set(window(20));
        processes.get(0).refreshPolicy(KEY).block(PATIENCE);
        allowed += allowedInTurn(60, processes.toArray(RateLimiter[]::new));
        processes.get(1).refreshPolicy(KEY).block(PATIENCE);
        allowed += allowedInTurn(60, processes.toArray(RateLimiter[]::new));

        assertThat(allowed).isBetween(20L, 30L);
    }

    @Test
    void valueOfOnePolicyStaysAsItIsAndLivesAsLongAsAnyStateMatters() {
        RateLimiter bucket = process(TokenBucket.of(10, ofHours(10)));
        RateLimiter window = process(FixedWindow.of(10, ofSeconds(100)).fromFirstRequest());
        take(bucket, 10);
        assertThat(value()).matches("11\\d{16}");
        assertThat(timeToLive()).isBetween(35_900_000L, 36_000_001L);
        take(window, 10);
        assertThat(value()).matches("14\\d{16} 100000000 10@\\d{16};1\\d{16}@\\d{16}");
        assertThat(timeToLive()).isBetween(35_900_000L, 36_000_002L);
        bucket.reset(KEY).block(PATIENCE);
        assertThat(take(window, 10)).isTrue();
        assertThat(value()).matches("1\\|0 0 0 0 \\d{16} \\d{16}\\|4\\d{16} 100000000 10");
        assertThat(take(bucket, 10)).isTrue();
    }

    @Test
    void stateOfAnotherPolicyIsDroppedOnceItHasRecovered() {
        RateLimiter soon = process(FixedWindow.of(10, ofMillis(200)).fromFirstRequest());
        RateLimiter bucket = process(TokenBucket.of(1_000, ofHours(10)));
        take(soon, 1);
        take(bucket, 1);
        assertThat(value()).contains(";4");

        Await.until("dropped", () -> take(bucket, 1) && !value().contains(";"));

        assertThat(value()).matches("11\\d{16}");
        assertThat(timeToLive()).isLessThan(36_000_000);
    }

    @Test
    void timeToLiveThatWasRemovedLosesNothing() {
        RateLimiter bucket = process(TokenBucket.of(10, ofHours(10)));
        RateLimiter window = process(window(10));
        take(bucket, 10);
        connection.sync().persist("ratelimit:{" + name + ":" + KEY + "}");
        take(window, 1);

        assertThat(take(bucket, 5)).isFalse();
    }

    @Test
    void waitersKeepTheirSlotsWhileAnotherPolicyDecides() {
        RateLimiter bucket = process(TokenBucket.of(2, ofSeconds(1)));
        RateLimiter window = process(window(1_000));
        take(bucket, 2);
        List<Decision> left = new java.util.concurrent.CopyOnWriteArrayList<>();
        Flux.range(0, 3).flatMap(i -> bucket.acquire(KEY)).subscribe(left::add);

        Await.until("all left", () -> take(window, 1) && left.size() == 3);

        assertThat(left).allMatch(Decision::allowed);
    }
}
