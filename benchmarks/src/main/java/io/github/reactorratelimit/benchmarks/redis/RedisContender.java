package io.github.reactorratelimit.benchmarks.redis;

import io.github.bucket4j.distributed.proxy.optimization.DelayParameters;
import io.github.bucket4j.distributed.proxy.optimization.Optimization;
import io.github.bucket4j.distributed.proxy.optimization.Optimizations;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.benchmarks.Contender;
import io.github.reactorratelimit.benchmarks.redis.RedisLimiter.Opener;
import io.github.reactorratelimit.redis.RedisStore;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import java.time.Duration;
import java.util.EnumSet;

/** Who decides on Redis. */
@SuppressWarnings("ImmutableEnumChecker")
public enum RedisContender implements Contender {
    OURS(Kind.OURS, "reactor-ratelimit", ReactorRateLimitOnRedis.with(store -> store)),
    PREPAID(Kind.OURS, "reactor-ratelimit, prepaid permits", ReactorRateLimitOnRedis.with(RedisStore::leasing)),
    ON_CONNECTION(
            Kind.OURS,
            "reactor-ratelimit, on the connection's thread",
            ReactorRateLimitOnRedis.with(RedisStore::answeringOnConnection)),
    POLICY_VERSION(
            Kind.OURS,
            "reactor-ratelimit, with a policy version",
            ReactorRateLimitOnRedis.with(store -> store.withPolicyEpoch(1))),
    FIXED_WINDOW(
            Kind.OURS,
            "reactor-ratelimit, fixed window",
            ReactorRateLimitOnRedis.with(
                    limit -> FixedWindow.of(limit.permits(), Duration.ofSeconds(1)), store -> store)),
    SLIDING_COUNTER(
            Kind.OURS,
            "reactor-ratelimit, sliding window counter",
            ReactorRateLimitOnRedis.with(
                    limit -> SlidingWindowCounter.of(limit.permits(), Duration.ofSeconds(1)), store -> store)),
    SLIDING_LOG(
            Kind.OURS,
            "reactor-ratelimit, sliding window log",
            ReactorRateLimitOnRedis.with(
                    limit -> SlidingWindowLog.of(limit.permits(), Duration.ofSeconds(1)), store -> store)),
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

    /** Those that decide by the token bucket of the group's title. */
    public static RedisContender[] ofBuckets() {
        return EnumSet.complementOf(EnumSet.range(POLICY_VERSION, SLIDING_LOG)).toArray(RedisContender[]::new);
    }

    RedisLimiter open(RedisClient client, RedisURI uri, String[] keys, RedisLimiter.BucketSize limit) throws Exception {
        return opener.open(client, uri, keys, limit);
    }
}
