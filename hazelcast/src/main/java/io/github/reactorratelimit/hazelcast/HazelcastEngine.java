package io.github.reactorratelimit.hazelcast;

import com.hazelcast.cluster.Cluster;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.map.IMap;
import io.github.reactorratelimit.spi.CompareAndSwapEngine;
import io.github.reactorratelimit.spi.CompareAndSwapStore;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * The values of limits in a map of Hazelcast. Every change is an entry processor, which runs on the member that owns the key and on its
 * backup; no call blocks.
 *
 * <pre>{@code
 * HazelcastInstance member = Hazelcast.newHazelcastInstance(config);
 * RateLimiter limiter = RateLimiter.builder(TokenBucket.perSecond(100))
 *         .name("calls")
 *         .store(HazelcastEngine.store(member, "limits"))
 *         .build();
 * }</pre>
 *
 * <p>With the default of one synchronous backup the death of one member loses no value. A request that was in flight then may be charged
 * twice. If all members that hold a value die at the same time, its key starts without usage: at most one more limit is granted per loss. While a
 * network splits the cluster, each part grants the limit.
 *
 * <p>The time is the cluster's, in milliseconds. Members follow the oldest one; they differ by the time that a heartbeat takes.
 */
public final class HazelcastEngine implements CompareAndSwapEngine {

    private final IMap<String, byte[]> values;
    private final Cluster cluster;

    /** On a map that holds nothing else. The map's own expiry and eviction must stay off. */
    public HazelcastEngine(HazelcastInstance member, String map) {
        this.values = member.getMap(map);
        this.cluster = member.getCluster();
    }

    /** A store on the map of this name. */
    public static CompareAndSwapStore store(HazelcastInstance member, String map) {
        return CompareAndSwapStore.of(new HazelcastEngine(member, map));
    }

    @Override
    public Mono<byte[]> get(String key) {
        return answer(() -> values.getAsync(key));
    }

    @Override
    public Mono<Boolean> compareAndSet(String key, byte @Nullable [] expected, byte[] next, Duration timeToLive) {
        return answer(() -> values.submitToKey(key, new CompareAndSwap(expected, next, timeToLive.toMillis())));
    }

    @Override
    public Mono<Boolean> compareAndRemove(String key, byte[] expected) {
        return answer(() -> values.submitToKey(key, new CompareAndSwap(expected, null, 0)));
    }

    @Override
    public Mono<Instant> now() {
        return Mono.fromSupplier(() -> Instant.ofEpochMilli(cluster.getClusterTime()));
    }

    private static <T> Mono<T> answer(Supplier<CompletionStage<T>> call) {
        // Not cancelled with the subscriber: a change that is in flight ends anyway.
        return Mono.fromFuture(() -> call.get().toCompletableFuture(), true);
    }
}
