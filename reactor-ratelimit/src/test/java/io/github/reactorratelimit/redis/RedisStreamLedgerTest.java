package io.github.reactorratelimit.redis;

import static java.time.Duration.ofSeconds;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitStore;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterBuilder;
import io.github.reactorratelimit.operator.StreamLedgerContract;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.function.LongPredicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.extension.ExtendWith;

/** On a server: closing the limiter waits for what is being settled. */
@ExtendWith(RedisExtension.class)
class RedisStreamLedgerTest extends StreamLedgerContract {

    private static final Duration PATIENCE = ofSeconds(30);

    private final StatefulRedisConnection<String, String> connection;

    RedisStreamLedgerTest(Standalone server) {
        this.connection = server.connect();
    }

    @Override
    protected RateLimitStore store() {
        return RedisStore.of(connection).withDeadline(ofSeconds(20));
    }

    @Override
    protected long spent(RateLimiter limiter, RateLimiterBuilder another, String key, LongPredicate expected) {
        limiter.close().block(PATIENCE);
        RateLimiter reader = another.build();
        Await.until("all that was granted to those who had left is back", () -> expected.test(spent(reader, key)));
        long spent = spent(reader, key);
        reader.close().block(PATIENCE);
        return spent;
    }

    private static long spent(RateLimiter reader, String key) {
        Decision seen = reader.peek(key).block(PATIENCE);
        return seen.limit() - seen.remaining();
    }

    @AfterEach
    void disconnect() {
        connection.close();
    }
}
