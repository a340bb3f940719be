package io.github.reactorratelimit.benchmarks.redis;

import io.lettuce.core.RedisURI;
import org.redisson.Redisson;
import org.redisson.api.RRateLimiter;
import org.redisson.api.RateType;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson's RRateLimiter, asked asynchronously, on its own connections. It has no capacity of its own: that is its rate. */
final class RedissonLimiter implements Target {

    private final RedissonClient redisson;
    private final RRateLimiter[] limiters;

    private RedissonLimiter(RedissonClient redisson, RRateLimiter[] limiters) {
        this.redisson = redisson;
        this.limiters = limiters;
    }

    static Target open(RedisBench bench, String name, int keys, Limit limit) throws InterruptedException {
        RedisURI uri = bench.uri();
        Config config = new Config();
        config.useSingleServer().setAddress("redis://" + uri.getHost() + ":" + uri.getPort());
        RedissonClient redisson = Redisson.create(config);
        RRateLimiter[] limiters = Names.of(keys, RRateLimiter[]::new, key -> redisson.getRateLimiter(name + ":" + key));
        Pipelined.run(keys, key -> limiters[key].trySetRateAsync(RateType.OVERALL, limit.permits(), limit.period()));
        return new RedissonLimiter(redisson, limiters);
    }

    @Override
    public void ask(int key, long permits, Answer answer) {
        limiters[key]
                .tryAcquireAsync(permits)
                .whenComplete((allowed, error) -> answer.complete(error == null && allowed, error));
    }

    @Override
    public void close() {
        redisson.shutdown();
    }
}
