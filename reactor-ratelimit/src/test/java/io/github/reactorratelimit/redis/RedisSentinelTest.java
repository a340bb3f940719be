package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.FullRateLimiterContract;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitStore;
import io.github.reactorratelimit.WarmUp;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Sentinels;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.extension.ExtendWith;

/** The Redis store keeps the contract of every store on the master behind Sentinel. */
@ExtendWith(RedisExtension.class)
class RedisSentinelTest extends FullRateLimiterContract {

    private final StatefulRedisConnection<String, String> connection;

    RedisSentinelTest(Sentinels servers) {
        this.connection = servers.connect();
    }

    @Override
    protected RateLimitStore store() {
        return RedisStore.of(connection).withDeadline(Duration.ofSeconds(10));
    }

    @Override
    protected boolean holds(RateLimitPolicy policy) {
        return !(policy instanceof WarmUp);
    }

    @AfterEach
    void disconnect() {
        connection.close();
    }
}
