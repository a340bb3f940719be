package io.github.reactorratelimit.redis;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.FaultProxy;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import java.time.Duration;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What a process gives out while Redis is unavailable follows the policy in effect, not the one that the limiter was built with. */
@Tag("slow")
@ExtendWith(RedisExtension.class)
class LocalShareTest {

    private static final Duration PATIENCE = ofSeconds(30);
    private static final Duration DAY = Duration.ofDays(1);
    private static final RateLimitPolicy BUILT_WITH = TokenBucket.of(100, DAY);
    private static final int MANY = 60;

    private final String name = "share-" + UUID.randomUUID();
    private final FaultProxy proxy;
    private final RedisStore store;

    LocalShareTest(Standalone redis) {
        proxy = FaultProxy.before(redis.uri());
        store = RedisStore.connect(proxy.uri()).block(PATIENCE).withDeadline(ofSeconds(5));
    }

    @AfterEach
    void close() {
        store.close().block(PATIENCE);
        proxy.close();
    }

    private RateLimiter limiter(FailureMode mode) {
        RateLimiter limiter = RateLimiter.builder(BUILT_WITH)
                .name(name)
                .store(store.whenUnavailable(mode))
                .build();
        Await.until("Redis answers", () -> !limiter.peek("k").block(PATIENCE).degraded());
        return limiter;
    }

    private static long allowedWithoutRedis(RateLimiter limiter, String key) {
        long allowed = 0;
        for (int i = 0; i < MANY; i++) {
            Decision decision = limiter.tryAcquire(key).block(PATIENCE);
            assertThat(decision.degraded()).isTrue();
            allowed += decision.allowed() ? 1 : 0;
        }
        return allowed;
    }

    @Test
    void shareOfATightenedPolicyIsTightened() {
        RateLimiter limiter = limiter(FailureMode.local(2));
        limiter.changePolicy(TokenBucket.of(6, DAY)).block(PATIENCE);
        proxy.refuse();
        assertThat(allowedWithoutRedis(limiter, "k")).isEqualTo(3);
    }

    @Test
    void shareOfAnUnchangedPolicyIsThatOfThePolicy() {
        RateLimiter limiter = limiter(FailureMode.local(2));
        proxy.refuse();
        assertThat(allowedWithoutRedis(limiter, "k")).isEqualTo(50);
    }

    @Test
    void statedShareNeverExceedsTheTightenedPolicy() {
        RateLimiter limiter = limiter(FailureMode.local(TokenBucket.of(50, DAY)));
        limiter.changePolicy(SlidingWindowLog.of(3, DAY)).block(PATIENCE);
        proxy.refuse();
        assertThat(allowedWithoutRedis(limiter, "k")).isEqualTo(3);
    }

    @Test
    void processThatStartsLaterFollowsToo() {
        RateLimiter.builder(BUILT_WITH)
                .name(name)
                .store(store)
                .build()
                .changePolicy(TokenBucket.of(6, DAY))
                .block(PATIENCE);
        RateLimiter later = limiter(FailureMode.local(2));
        proxy.refuse();
        assertThat(allowedWithoutRedis(later, "k")).isEqualTo(3);
    }

    @Test
    void fewerPermitsThanInstancesAreGivenOutByNone() {
        RateLimiter limiter = limiter(FailureMode.local(5));
        limiter.changePolicy(TokenBucket.of(3, DAY)).block(PATIENCE);
        proxy.refuse();
        assertThat(allowedWithoutRedis(limiter, "k")).isZero();
    }

    @Test
    void whatTheShareGaveOutBeforeCountsUnderTheTightenedPolicy() {
        RateLimiter limiter = limiter(FailureMode.local(2));
        proxy.refuse();
        for (int i = 0; i < 2; i++) {
            assertThat(limiter.tryAcquire("k").block(PATIENCE).degraded()).isTrue();
        }
        proxy.pass();
        // A command that is sent while the connection is made anew may be lost.
        Await.until("the policy is changed", () -> {
            limiter.changePolicy(TokenBucket.of(6, DAY)).block(PATIENCE);
            return true;
        });
        proxy.refuse();
        assertThat(allowedWithoutRedis(limiter, "k")).isEqualTo(1);
    }
}
