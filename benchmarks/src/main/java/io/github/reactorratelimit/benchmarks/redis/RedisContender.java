package io.github.reactorratelimit.benchmarks.redis;

import io.github.bucket4j.distributed.proxy.optimization.DelayParameters;
import io.github.bucket4j.distributed.proxy.optimization.Optimization;
import io.github.bucket4j.distributed.proxy.optimization.Optimizations;
import io.github.reactorratelimit.benchmarks.Contender;
import io.github.reactorratelimit.benchmarks.redis.RedisLimiter.Opener;
import io.github.reactorratelimit.redis.RedisStore;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import java.time.Duration;

/** Who decides on Redis. */
@SuppressWarnings("ImmutableEnumChecker")
public enum RedisContender implements Contender {
    OURS(Kind.OURS, "reactor-ratelimit", ReactorRateLimitOnRedis.with(store -> store)),
    PREPAID(Kind.OURS, "reactor-ratelimit, prepaid permits", ReactorRateLimitOnRedis.with(RedisStore::leasing)),
    ON_CONNECTION(
            Kind.OURS,
            "reactor-ratelimit, on the connection's thread",
            ReactorRateLimitOnRedis.with(RedisStore::answeringOnConnection)),
    BUCKET4J(Kind.PEER, "Bucket4j CAS", Bucket4jOnRedis.with(Optimization.NONE_OPTIMIZED)),
    BUCKET4J_BATCHING(Kind.PEER, "Bucket4j batching", Bucket4jOnRedis.with(Optimizations.batching())),
    /** As long without a call as prepaid permits by default. */
    BUCKET4J_DELAYING(
            Kind.PEER,
            "Bucket4j delaying",
            Bucket4jOnRedis.with(Optimizations.delaying(new DelayParameters(100, Duration.ofSeconds(1))))),
    REDISSON(Kind.PEER, "Redisson", RedissonOnRedis::open),
    GATEWAY(Kind.PEER, "Spring Cloud Gateway's script", ScriptOnRedis::gateway),
    SCRIPT(Kind.FLOOR, "one smallest script each", ScriptOnRedis::smallest);

    private final Kind kind;
    private final String label;
    private final Opener opener;

    RedisContender(Kind kind, String label, Opener opener) {
        this.kind = kind;
        this.label = label;
        this.opener = opener;
    }

    @Override
    public Kind kind() {
        return kind;
    }

    @Override
    public String label() {
        return label;
    }

    RedisLimiter open(RedisClient client, RedisURI uri, String[] keys, RedisLimiter.BucketSize limit) throws Exception {
        return opener.open(client, uri, keys, limit);
    }
}
