package io.github.reactorratelimit.redis;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.redis.FaultProxy;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

/** What was paused in this process is not given out by its local share either. */
@ExtendWith(RedisExtension.class)
class LocalPauseTest {

    private static final Duration PATIENCE = ofSeconds(60);
    private static final RateLimitPolicy POLICY = TokenBucket.of(100, Duration.ofDays(1));

    private final FaultProxy proxy;
    private final RedisClient client;
    private final StatefulRedisConnection<String, String> connection;
    private final RateLimiter limiter;

    LocalPauseTest(Standalone redis) {
        proxy = FaultProxy.before(redis.uri());
        client = RedisClient.create(proxy.uri());
        client.setOptions(ClientOptions.builder()
                .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                .build());
        connection = client.connect();
        limiter = RateLimiter.builder(POLICY)
                .name("paused-" + UUID.randomUUID())
                .store(RedisStore.of(connection)
                        .withDeadline(ofSeconds(5))
                        .withoutSelfTest()
                        .whenUnavailable(FailureMode.local(POLICY.share(5))))
                .build();
    }

    @AfterEach
    void disconnect() {
        connection.close();
        client.shutdown(Duration.ZERO, ofSeconds(1));
        proxy.close();
    }

    private boolean allowedByTheShare(String key) {
        Decision decision = limiter.tryAcquire(key).block(PATIENCE);
        assertThat(decision.degraded()).isTrue();
        return decision.allowed();
    }

    @Test
    void pauseThatRedisTookHoldsWhenRedisIsAway() {
        limiter.pauseAtLeast("k", ofHours(1)).block(PATIENCE);
        limiter.pauseAtLeast("k", ofSeconds(1)).block(PATIENCE);
        proxy.refuse();

        assertThat(allowedByTheShare("k")).isFalse();
        assertThat(allowedByTheShare("other")).isTrue();
    }

    @Test
    void pauseThatRedisDidNotTakeHoldsHereAndIsSaidNotToBeTaken() {
        proxy.refuse();
        Mono<Void> pause = limiter.pause("k", ofHours(1));
        assertThat(allowedByTheShare("k")).as("not before it is subscribed to").isTrue();

        StepVerifier.create(pause).expectError(RedisUnavailableException.class).verify(PATIENCE);

        assertThat(allowedByTheShare("k")).isFalse();
    }

    @Test
    void pauseThatWasEndedHoldsNowhere() {
        limiter.pause("a", ofHours(1)).block(PATIENCE);
        limiter.pause("b", ofHours(1)).block(PATIENCE);
        limiter.pause("a", Duration.ZERO).block(PATIENCE);
        limiter.reset("b").block(PATIENCE);
        proxy.refuse();

        assertThat(allowedByTheShare("a")).isTrue();
        assertThat(allowedByTheShare("b")).isTrue();
    }
}
