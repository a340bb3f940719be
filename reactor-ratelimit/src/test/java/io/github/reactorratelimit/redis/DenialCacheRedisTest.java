package io.github.reactorratelimit.redis;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.redis.CommandCount;
import io.github.reactorratelimit.testing.redis.Dedicated;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Mono;

/** Calls that a known denial saves, and everything that makes it unknown again. The limiter's clock stands still. */
@ExtendWith(RedisExtension.class)
class DenialCacheRedisTest {

    private static final Duration PATIENCE = ofSeconds(30);
    private static final RateLimitPolicy POLICY = TokenBucket.of(5, ofHours(5));

    private final Standalone redis;
    private final StatefulRedisConnection<String, String> connection;
    private final HandClock clock = new HandClock();

    DenialCacheRedisTest(@Dedicated Standalone redis) {
        this.redis = redis;
        this.connection = redis.connect();
    }

    @AfterEach
    void disconnect() {
        connection.close();
    }

    private RedisStore store() {
        return RedisStore.of(connection).withoutSelfTest().withDeadline(PATIENCE);
    }

    /** Has read its policies, so that what it is asked next is asked by the short script, which the server may have to learn. */
    private RateLimiter limiter(RedisStore store) {
        RateLimiter limiter = RateLimiter.builder(POLICY)
                .name("denials-" + UUID.randomUUID())
                .scheduler(clock)
                .store(store)
                .build();
        limiter.peek("another").block(PATIENCE);
        return limiter;
    }

    private static Decision ask(RateLimiter limiter, long permits) {
        return limiter.tryAcquire("k", permits).block(PATIENCE);
    }

    @Test
    void deniedKeyCostsOneCall() {
        RateLimiter limiter = limiter(store());
        assertThat(ask(limiter, 3).allowed()).isTrue();
        CommandCount count = CommandCount.on(redis);
        for (int i = 0; i < 1_000; i++) {
            long missing = 1 + i % 3;
            Decision denied = ask(limiter, 2 + missing);
            assertThat(denied.allowed()).isFalse();
            assertThat(denied.remaining()).isEqualTo(2);
            assertThat(denied.retryAfter().orElseThrow())
                    .isBetween(ofHours(missing).minusSeconds(100), ofHours(missing));
        }
        assertThat(count.scripts()).isEqualTo(1);
        assertThat(ask(limiter, 2).allowed()).as("cheaper").isTrue();
        assertThat(count.scripts()).isEqualTo(2);
    }

    @Test
    void deniedKeyOfALeasedLimiterCostsOneCall() {
        RateLimiter limiter = limiter(store().leasing());
        assertThat(ask(limiter, 5).allowed()).isTrue();
        CommandCount count = CommandCount.on(redis);
        for (int i = 0; i < 1_000; i++) {
            assertThat(ask(limiter, 1 + i % 3).allowed()).isFalse();
        }
        assertThat(count.scripts()).isEqualTo(1);
    }

    @Test
    void withoutTheCacheEveryDenialIsACall() {
        RateLimiter limiter = limiter(store().withoutDenialCache());
        ask(limiter, 5);
        CommandCount count = CommandCount.on(redis);
        for (int i = 0; i < 10; i++) {
            assertThat(ask(limiter, 1).allowed()).isFalse();
        }
        assertThat(count.scripts()).isEqualTo(10);
    }

    @Test
    void denialIsAskedForAgainAfterASecond() {
        RateLimiter limiter = limiter(store());
        ask(limiter, 5);
        CommandCount count = CommandCount.on(redis);
        Duration first = ask(limiter, 1).retryAfter().orElseThrow();
        clock.advance(ofMillis(999));
        assertThat(ask(limiter, 1).retryAfter()).contains(first.minusMillis(999));
        assertThat(count.scripts()).isEqualTo(1);
        clock.advance(ofMillis(1));
        ask(limiter, 1);
        assertThat(count.scripts()).isEqualTo(2);
    }

    @Test
    void refundResetAndPauseAreNoticedAtOnce() {
        RateLimiter limiter = limiter(store());
        Decision all = ask(limiter, 5);
        assertThat(ask(limiter, 1).allowed()).isFalse();

        limiter.refund(all).block(PATIENCE);
        assertThat(ask(limiter, 4).allowed()).isTrue();
        assertThat(ask(limiter, 4).allowed()).isFalse();

        limiter.reset("k").block(PATIENCE);
        assertThat(ask(limiter, 5).allowed()).isTrue();
        assertThat(ask(limiter, 1).allowed()).isFalse();

        limiter.pause("k", ofHours(9)).block(PATIENCE);
        assertThat(ask(limiter, 1).retryAfter().orElseThrow()).isGreaterThan(ofHours(8));
    }

    @Test
    void denialOfAPausedKeyIsKnownAndItsEndIsNoticedAtOnce() {
        RateLimiter limiter = limiter(store());
        ask(limiter, 1);
        CommandCount count = CommandCount.on(redis);
        limiter.pause("k", ofHours(1)).block(PATIENCE);
        for (int i = 0; i < 10; i++) {
            Decision paused = ask(limiter, 1);
            assertThat(paused.allowed()).isFalse();
            assertThat(paused.remaining()).isZero();
        }
        assertThat(count.scripts()).as("the pause and one ask").isEqualTo(2);

        limiter.pause("k", ZERO).block(PATIENCE);
        assertThat(ask(limiter, 4).allowed()).isTrue();
        assertThat(count.scripts()).isEqualTo(4);
    }

    @Test
    void changedPolicyIsNoticedAtOnce() {
        AtomicReference<RateLimitPolicy> plan = new AtomicReference<>(POLICY);
        RateLimiter limiter = RateLimiter.builder(POLICY)
                .name("denials-" + UUID.randomUUID())
                .scheduler(clock)
                .store(store())
                .policyPerKey(key -> Mono.fromSupplier(plan::get), ofMillis(1))
                .build();
        ask(limiter, 5);
        assertThat(ask(limiter, 1).allowed()).isFalse();
        plan.set(TokenBucket.of(8, ofHours(8)));
        clock.advance(ofMillis(1));
        assertThat(ask(limiter, 3).allowed()).isTrue();
        assertThat(ask(limiter, 1).allowed()).isFalse();
        plan.set(POLICY);
        clock.advance(ofMillis(1));
        CommandCount count = CommandCount.on(redis);
        assertThat(ask(limiter, 1).allowed()).isFalse();
        assertThat(count.scripts()).as("the move and the ask itself").isEqualTo(2);
    }

    @Test
    void thoseWhoWaitAskRedis() {
        RateLimiter limiter = limiter(store());
        ask(limiter, 5);
        ask(limiter, 1);
        CommandCount count = CommandCount.on(redis);
        assertThat(limiter.acquire("k", 1, ofMillis(10)).block(PATIENCE).allowed())
                .isFalse();
        assertThat(count.scripts()).isEqualTo(1);
    }
}
