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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Bucket4j's asynchronous buckets on Lettuce. The proxies are kept, as their optimizations demand. */
final class Bucket4j implements Target {

    private static final Duration LONGEST_LIFE = Duration.ofDays(1);

    private final StatefulRedisConnection<byte[], byte[]> connection;
    private final AsyncBucketProxy[] buckets;

    private Bucket4j(StatefulRedisConnection<byte[], byte[]> connection, AsyncBucketProxy[] buckets) {
        this.connection = connection;
        this.buckets = buckets;
    }

    static Opener with(Optimization optimization) {
        return (bench, name, keys, limit) -> {
            StatefulRedisConnection<byte[], byte[]> connection = bench.client().connect(ByteArrayCodec.INSTANCE);
            AsyncProxyManager<byte[]> manager = Bucket4jLettuce.casBasedBuilder(connection)
                    .expirationAfterWrite(
                            ExpirationAfterWriteStrategy.basedOnTimeForRefillingBucketUpToMax(LONGEST_LIFE))
                    .build()
                    .asAsync();
            BucketConfiguration configuration = limit.bucket4j();
            AsyncBucketProxy[] buckets = Names.of(
                    keys,
                    AsyncBucketProxy[]::new,
                    key -> manager.builder()
                            .withOptimization(optimization)
                            .build(
                                    (name + ":" + key).getBytes(StandardCharsets.UTF_8),
                                    () -> CompletableFuture.completedFuture(configuration)));
            return new Bucket4j(connection, buckets);
        };
    }

    @Override
    public void ask(int key, long permits, Answer answer) {
        CompletionStage<Boolean> future = buckets[key].tryConsume(permits);
        future.whenComplete((allowed, error) -> answer.complete(error == null && allowed, error));
    }

    @Override
    public void close() {
        connection.close();
    }
}
