package io.github.reactorratelimit.benchmarks.redis;

import io.github.bucket4j.BucketConfiguration;
import io.github.bucket4j.distributed.AsyncBucketProxy;
import io.github.bucket4j.distributed.ExpirationAfterWriteStrategy;
import io.github.bucket4j.distributed.proxy.AsyncProxyManager;
import io.github.bucket4j.distributed.proxy.optimization.Optimization;
import io.github.bucket4j.redis.lettuce.Bucket4jLettuce;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Bucket4j's asynchronous buckets on Lettuce. The proxies are kept, as its optimizations demand. */
final class Bucket4jOnRedis implements RedisLimiter {

    private static final Duration LONGEST_LIFE = Duration.ofDays(1);

    private final StatefulRedisConnection<byte[], byte[]> connection;
    private final AsyncBucketProxy[] buckets;

    private Bucket4jOnRedis(StatefulRedisConnection<byte[], byte[]> connection, AsyncBucketProxy[] buckets) {
        this.connection = connection;
        this.buckets = buckets;
    }

    static Opener with(Optimization optimization) {
        return (client, uri, keys, limit) -> {
            StatefulRedisConnection<byte[], byte[]> connection = client.connect(ByteArrayCodec.INSTANCE);
            AsyncProxyManager<byte[]> manager = Bucket4jLettuce.casBasedBuilder(connection)
                    .expirationAfterWrite(
                            ExpirationAfterWriteStrategy.basedOnTimeForRefillingBucketUpToMax(LONGEST_LIFE))
                    .build()
                    .asAsync();
            BucketConfiguration configuration = BucketConfiguration.builder()
                    .addLimit(bandwidth ->
                            bandwidth.capacity(limit.burst()).refillGreedy(limit.permits(), Duration.ofSeconds(1)))
                    .build();
            AsyncBucketProxy[] buckets = Arrays.stream(keys)
                    .map(key -> manager.builder()
                            .withOptimization(optimization)
                            .build(
                                    key.getBytes(StandardCharsets.UTF_8),
                                    () -> CompletableFuture.completedFuture(configuration)))
                    .toArray(AsyncBucketProxy[]::new);
            return new Bucket4jOnRedis(connection, buckets);
        };
    }

    @Override
    public void tryAcquire(int key, Receiver receiver) {
        CompletionStage<Boolean> future = buckets[key].tryConsume(1);
        future.whenComplete((allowed, error) -> receiver.complete(error == null && allowed, error));
    }

    @Override
    public void close() {
        connection.close();
    }
}
