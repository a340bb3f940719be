package io.github.reactorratelimit.redis;

import static java.time.Duration.ofSeconds;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitStore;
import io.github.reactorratelimit.SettlingContract;
import io.github.reactorratelimit.WarmUp;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.api.StatefulRedisConnection;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.extension.ExtendWith;

/** The Redis store settles as every store, also what two instances spend together. */
@ExtendWith(RedisExtension.class)
class RedisSettlingTest extends SettlingContract {

    private final StatefulRedisConnection<String, String> connection;

    RedisSettlingTest(Standalone server) {
        this.connection = server.connect();
    }

    /** Without what was denied before: what the other instance gives back would be noticed up to a second later. */
    @Override
    protected RateLimitStore store() {
        return RedisStore.of(connection).withDeadline(ofSeconds(10)).withoutDenialCache();
    }

    @Override
    protected boolean holds(RateLimitPolicy policy) {
        return !(policy instanceof WarmUp);
    }

    /** A denial is remembered until a signal comes; the trace does not wait for that. */
    @Override
    protected RateLimitStore sharedStore() {
        return RedisStore.of(connection).withDeadline(ofSeconds(10)).withoutDenialCache();
    }

    @Override
    protected int instances() {
        return 2;
    }

    @AfterEach
    void disconnect() {
        connection.close();
    }
}
