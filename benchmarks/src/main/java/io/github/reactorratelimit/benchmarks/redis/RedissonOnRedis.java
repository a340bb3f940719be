package io.github.reactorratelimit.benchmarks.redis;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import java.time.Duration;
import java.util.Arrays;
import org.redisson.Redisson;
import org.redisson.api.RRateLimiter;
import org.redisson.api.RateType;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson's RRateLimiter on its own connections. It has no burst besides its rate. */
final class RedissonOnRedis implements RedisLimiter {

    private final RedissonClient redisson;
    private final RRateLimiter[] limiters;

    private RedissonOnRedis(RedissonClient redisson, RRateLimiter[] limiters) {
        this.redisson = redisson;
        this.limiters = limiters;
    }

    static RedisLimiter open(RedisClient client, RedisURI uri, String[] keys, BucketSize limit) {
        Config config = new Config();
        config.useSingleServer().setAddress("redis://" + uri.getHost() + ":" + uri.getPort());
        RedissonClient redisson = Redisson.create(config);
        RRateLimiter[] limiters = Arrays.stream(keys)
                .map(key -> redisson.getRateLimiter("redisson:" + key))
                .toArray(RRateLimiter[]::new);
        for (RRateLimiter limiter : limiters) {
            limiter.trySetRate(RateType.OVERALL, limit.permits(), Duration.ofSeconds(1));
        }
        return new RedissonOnRedis(redisson, limiters);
    }

    @Override
    public void tryAcquire(int key, Receiver receiver) {
        limiters[key]
                .tryAcquireAsync(1)
                .whenComplete((allowed, error) -> receiver.complete(error == null && allowed, error));
    }

    @Override
    public void close() {
        redisson.shutdown();
    }
}
