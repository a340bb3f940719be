package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.FullRateLimiterContract;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitStore;
import io.github.reactorratelimit.WarmUp;
import io.github.reactorratelimit.testing.redis.Cluster;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.extension.ExtendWith;

/** The Redis store keeps the contract of every store on a cluster of three masters and their replicas. */
@ExtendWith(RedisExtension.class)
class RedisClusterTest extends FullRateLimiterContract {

    private final StatefulRedisClusterConnection<String, String> connection;

    RedisClusterTest(Cluster cluster) {
        this.connection = cluster.connect();
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
