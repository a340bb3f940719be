package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.JointDecision;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Mono;

/** Redis tells when more can be had, for every policy; that it is exact is what the twins show. */
@Tag("slow")
@ExtendWith(RedisExtension.class)
class MoreAfterRedisTest {

    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final StatefulRedisConnection<String, String> connection;
    private final String key = UUID.randomUUID().toString();

    MoreAfterRedisTest(Standalone server) {
        this.connection = server.connect();
    }

    @AfterEach
    void disconnect() {
        connection.close();
    }

    static List<RateLimitPolicy> policies() {
        Duration window = Duration.ofMillis(800);
        return List.of(
                TokenBucket.of(100, Duration.ofMinutes(1)),
                TokenBucket.of(100, Duration.ofMinutes(1)).withInitialTokens(90),
                new TokenBucket(20, 5, window).stepwise(),
                Gcra.of(100, Duration.ofMinutes(1)),
                LeakyBucket.perSecond(10),
                FixedWindow.of(20, window),
                SlidingWindowLog.of(20, window),
                SlidingWindowCounter.of(20, window),
                Policies.all(TokenBucket.perSecond(100), SlidingWindowLog.of(100, window)));
    }

    @ParameterizedTest
    @MethodSource("policies")
    void thenThereIsMore(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);

        thereIsMoreLater(limiter, limiter.tryAcquire(key).block(PATIENCE));
    }

    /** Several at once, which are asked for in another call. */
    @Test
    void thenThereIsMoreOfEachThatWasAskedTogether() {
        RateLimiter log = limiter(SlidingWindowLog.of(20, Duration.ofMillis(800)));
        RateLimiter bucket = limiter(TokenBucket.of(100, Duration.ofMinutes(1)));

        JointDecision both = RateLimiter.acquireAll(
                        List.of(RateLimiter.permits(log, key), RateLimiter.permits(bucket, key)))
                .block(PATIENCE);

        thereIsMoreLater(log, both.decisions().get(0));
        thereIsMoreLater(bucket, both.decisions().get(1));
    }

    private RateLimiter limiter(RateLimitPolicy policy) {
        return RateLimiter.builder(policy)
                .name(UUID.randomUUID().toString())
                .store(RedisStore.of(connection).withDeadline(Duration.ofSeconds(10)))
                .build();
    }

    private void thereIsMoreLater(RateLimiter limiter, Decision decision) {
        assertThat(decision.allowed()).isTrue();
        Duration more = decision.moreAfter().orElseThrow();
        Decision later = Mono.delay(more).then(limiter.peek(key)).block(PATIENCE);
        assertThat(later.remaining()).as("after %s: %s", more, later).isGreaterThan(decision.remaining());
    }
}
