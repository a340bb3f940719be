package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitStore;
import io.github.reactorratelimit.RateLimiterContract;
import io.github.reactorratelimit.WarmUp;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.extension.ExtendWith;

/** The Redis store keeps the contract of every store, also if it answers on the thread of the connection. */
@ExtendWith(RedisExtension.class)
class OnConnectionContractTest extends RateLimiterContract {

    private final StatefulRedisConnection<String, String> connection;

    OnConnectionContractTest(Standalone server) {
        this.connection = server.connect();
    }

    @Override
    protected RateLimitStore store() {
        return RedisStore.of(connection).withDeadline(Duration.ofSeconds(10)).answeringOnConnection();
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
