package io.github.reactorratelimit.redis;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.CommandCount;
import io.github.reactorratelimit.testing.redis.Dedicated;
import io.github.reactorratelimit.testing.redis.FaultProxy;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Flux;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;

@ExtendWith(RedisExtension.class)
class RedisStoreTest {

    private static final Duration PATIENCE = ofSeconds(30);

    private final AtomicInteger degraded = new AtomicInteger();

    private RateLimiter limiter(RedisStore store, RateLimitPolicy policy) {
        RateLimitRecorder recorder = new RateLimitRecorder() {
            @Override
            public void counted(Event event, long permits) {
                if (event.name().startsWith("DEGRADED")) {
                    degraded.incrementAndGet();
                }
            }
        };
        return RateLimiter.builder(policy)
                .name("store-" + UUID.randomUUID())
                .store(store)
                .recorder(recorder)
                .build();
    }

    @Test
    void uncontendedDecisionIsOneRoundTrip(@Dedicated Standalone redis) {
        try (StatefulRedisConnection<String, String> connection = redis.connect()) {
            RateLimiter limiter = limiter(
                    RedisStore.of(connection).withoutSelfTest().withDeadline(PATIENCE), TokenBucket.perHour(1_000));
            // The second one by the short script, which a new server does not know.
            limiter.tryAcquire("warm-up").then(limiter.tryAcquire("warm-up")).block(PATIENCE);
            CommandCount count = CommandCount.on(redis);
            for (int i = 0; i < 100; i++) {
                assertThat(limiter.tryAcquire("k").block(PATIENCE).allowed()).isTrue();
            }
            assertThat(count.scripts()).isEqualTo(100);
        }
    }

    @Test
    void asksUnderWayForOneKeyShareACall(@Dedicated Standalone redis) {
        try (StatefulRedisConnection<String, String> connection = redis.connect()) {
            RateLimiter limiter = limiter(
                    RedisStore.of(connection).withoutSelfTest().withDeadline(PATIENCE),
                    FixedWindow.of(1_000_000, Duration.ofDays(200)));
            limiter.tryAcquire("warm-up").block(PATIENCE);
            CommandCount count = CommandCount.on(redis);
            int decisions = 20_000;
            Long allowed = Flux.range(0, decisions)
                    .flatMap(i -> limiter.tryAcquire("k"), 64)
                    .filter(Decision::allowed)
                    .count()
                    .block(PATIENCE);
            assertThat(allowed).isEqualTo(decisions);
            assertThat(count.scripts()).isLessThanOrEqualTo(decisions / 16);
            System.out.printf("coalescing: %d decisions in %d calls%n", decisions, count.scripts());
            assertThat(limiter.peek("k").block(PATIENCE).remaining()).isEqualTo(980_000);
        }
    }

    @Test
    void whoLeavesBeforeTheAnswerComesKeepsNothing(Standalone redis) {
        try (StatefulRedisConnection<String, String> connection = redis.connect()) {
            RateLimiter limiter = limiter(
                    RedisStore.of(connection).withDeadline(PATIENCE), FixedWindow.of(100_000, Duration.ofDays(200)));
            Leavers.leave(
                    5_000, i -> i % 2 == 0 ? limiter.tryAcquire("try") : limiter.acquire("wait"), limiter::refund);
            Await.until(
                    "all permits back",
                    Leavers.PATIENCE,
                    () -> limiter.peek("try").block(PATIENCE).remaining() == 100_000
                            && limiter.peek("wait").block(PATIENCE).remaining() == 100_000);
        }
    }

    @Test
    void twoLimitersOfOneNameShareTheirKeys(Standalone redis) {
        try (StatefulRedisConnection<String, String> one = redis.connect();
                StatefulRedisConnection<String, String> other = redis.connect()) {
            String name = "shared-" + UUID.randomUUID();
            List<RateLimiter> limiters = List.of(
                    RateLimiter.builder(Gcra.of(10, Duration.ofHours(1)))
                            .name(name)
                            .store(RedisStore.of(one).withDeadline(PATIENCE))
                            .build(),
                    RateLimiter.builder(Gcra.of(10, Duration.ofHours(1)))
                            .name(name)
                            .store(RedisStore.of(other).withDeadline(PATIENCE))
                            .build());
            Long allowed = Flux.range(0, 100)
                    .flatMap(i -> limiters.get(i % 2).tryAcquire("k"), 16)
                    .filter(Decision::allowed)
                    .count()
                    .block(PATIENCE);
            assertThat(allowed).isEqualTo(10);
        }
    }

    @Test
    void everyModeAnswersAndCountsWhileRedisIsSilent(Standalone redis) {
        TokenBucket policy = TokenBucket.perHour(100);
        try (FaultProxy proxy = FaultProxy.before(redis.uri())) {
            RedisClient client = RedisClient.create(proxy.uri());
            client.setOptions(ClientOptions.builder()
                    .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                    .build());
            try (StatefulRedisConnection<String, String> connection = client.connect()) {
                RedisStore store = RedisStore.of(connection).withDeadline(ofMillis(50));
                RateLimiter open = limiter(store.whenUnavailable(FailureMode.open()), policy);
                RateLimiter closed = limiter(store.whenUnavailable(FailureMode.closed()), policy);
                RateLimiter local = limiter(store.whenUnavailable(FailureMode.local(policy.share(50))), policy);
                proxy.blackHole();
                for (int i = 0; i < 20; i++) {
                    Decision allowed = open.tryAcquire("k").block(PATIENCE);
                    assertThat(allowed.allowed() && allowed.degraded()).isTrue();
                    Decision denied = closed.tryAcquire("k").block(PATIENCE);
                    assertThat(!denied.allowed() && denied.degraded()).isTrue();
                    assertThat(denied.retryAfter()).isPresent();
                    if (i == 0) {
                        assertThat(denied.retryAfter())
                                .as("until a probe would be sent")
                                .contains(ofMillis(500));
                    }
                    assertThat(local.tryAcquire("k").block(PATIENCE).allowed()).isEqualTo(i < 2);
                }
                assertThat(degraded).hasValue(60);
            } finally {
                client.shutdown(Duration.ZERO, ofSeconds(1));
            }
        }
    }

    @Test
    void callThatFailsIsOneFailureHoweverManyAsksWaitedForIt(Standalone redis) {
        try (FaultProxy proxy = FaultProxy.before(redis.uri())) {
            RedisClient client = RedisClient.create(proxy.uri());
            try (StatefulRedisConnection<String, String> connection = client.connect()) {
                RateLimiter limiter = limiter(
                        RedisStore.of(connection).withoutSelfTest().withDeadline(ofSeconds(2)),
                        TokenBucket.perHour(1_000));
                limiter.tryAcquire("k").block(PATIENCE);
                proxy.blackHole();
                Long answered = Flux.range(0, 50)
                        .flatMap(i -> limiter.tryAcquire("k"), 50)
                        .filter(Decision::degraded)
                        .count()
                        .block(PATIENCE);
                proxy.pass();

                assertThat(answered).isEqualTo(50);
                assertThat(limiter.tryAcquire("other").block(PATIENCE).degraded())
                        .isFalse();
            } finally {
                client.shutdown(Duration.ZERO, ofSeconds(1));
            }
        }
    }

    @Test
    void whatWasTakenBeforeThePolicyChangedIsNotGivenBackToTheNewOne(Standalone redis) {
        Gcra quick = new Gcra(10, ofSeconds(1), 10);
        Gcra slow = new Gcra(1, Duration.ofMinutes(1), 10);
        AtomicInteger lost = new AtomicInteger();
        RateLimitRecorder recorder = new RateLimitRecorder() {
            @Override
            public void counted(Event event, long permits) {
                if (event == Event.REFUND_LOST) {
                    lost.addAndGet((int) permits);
                }
            }
        };
        try (StatefulRedisConnection<String, String> connection = redis.connect()) {
            LimiterState state = RedisStore.of(connection)
                    .withDeadline(PATIENCE)
                    .withoutDenialCache()
                    .open(new LimiterSettings(
                            "carried-" + UUID.randomUUID(),
                            quick,
                            Schedulers.parallel(),
                            Schedulers.boundedElastic(),
                            recorder,
                            10,
                            true));
            Debit early = state.evaluate("k", null, 1).block(PATIENCE).debit().orElseThrow();
            state.migrate("k", null, slow).block(PATIENCE);
            assertThat(state.evaluate("k", slow, 9).block(PATIENCE).allowed()).isTrue();

            state.refund(early).block(PATIENCE);

            assertThat(lost).hasValue(1);
            assertThat(state.evaluate("k", slow, 1).block(PATIENCE).allowed()).isFalse();
            state.close().block(PATIENCE);
        }
    }

    @Test
    void corruptStateIsAnErrorAndNeverOpen(Standalone redis) {
        try (StatefulRedisConnection<String, String> connection = redis.connect()) {
            RateLimiter limiter = limiter(
                    RedisStore.of(connection).withDeadline(PATIENCE).whenUnavailable(FailureMode.open()),
                    TokenBucket.perHour(10));
            limiter.tryAcquire("k").block(PATIENCE);
            String key = connection
                    .sync()
                    .keys("ratelimit:{" + limiter.name() + ":k}*")
                    .get(0);
            connection.sync().set(key, "abc");
            StepVerifier.create(limiter.tryAcquire("k"))
                    .expectError(RedisCorruptStateException.class)
                    .verify(PATIENCE);
            assertThat(connection.sync().get(key)).isEqualTo("abc");
        }
    }

    @Test
    void scriptFlushIsNotNoticed(Standalone redis) {
        try (StatefulRedisConnection<String, String> connection = redis.connect()) {
            RateLimiter limiter = limiter(RedisStore.of(connection).withDeadline(PATIENCE), TokenBucket.perHour(10));
            for (int i = 0; i < 5; i++) {
                connection.sync().scriptFlush();
                assertThat(limiter.tryAcquire("k").block(PATIENCE).remaining()).isEqualTo(9 - i);
            }
        }
    }

    @Test
    void whatRedisCannotHoldIsRefusedWhenTheLimiterIsBuilt(Standalone redis) {
        try (StatefulRedisConnection<String, String> connection = redis.connect()) {
            RedisStore store = RedisStore.of(connection);
            assertThatThrownBy(() -> limiter(store, Gcra.of(1, Duration.ofNanos(1))))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("period must be a whole number of microseconds");
            assertThatThrownBy(() -> limiter(store, ConcurrencyLimit.of(1).withLease(Duration.ofNanos(1))))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("lease must be a whole number of microseconds");
            RedisStore otherShare = store.whenUnavailable(FailureMode.local(TokenBucket.perHour(1)));
            assertThatThrownBy(() -> limiter(otherShare, ConcurrencyLimit.of(1)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("share of a ConcurrencyLimit must be one too");
            assertThatThrownBy(() -> store.withDeadline(Duration.ZERO))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("deadline must be positive");
            assertThatThrownBy(() -> store.withPrefix("a{b"))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("prefix must not be blank or hold braces");
        }
    }
}
