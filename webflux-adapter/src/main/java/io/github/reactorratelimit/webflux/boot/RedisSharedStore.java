package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitStore;
import io.github.reactorratelimit.redis.FailureMode;
import io.github.reactorratelimit.redis.RedisStore;
import io.github.reactorratelimit.redis.RedisUnavailableException;
import io.github.reactorratelimit.redis.SelfTest;
import io.github.reactorratelimit.webflux.boot.LimitProperties.WhenUnavailable;
import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.AsyncCloseable;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** Limits in Redis, on connections of their own. */
final class RedisSharedStore implements SharedStore {

    private final RedisStore store;

    /** Once: the end of the application and that of the bean both ask for it. */
    private final Mono<Void> closing;

    private RedisSharedStore(
            RedisStore store, RateLimitProperties.Redis properties, @Nullable String application, Mono<Void> closing) {
        String prefix = properties.prefix() == null ? prefixOf(application) : properties.prefix();
        RedisStore prefixed = Properties.of("ratelimit.redis.prefix", () -> store.withPrefix(prefix));
        RedisStore ruled =
                Properties.of("ratelimit.redis.policy-epoch", () -> prefixed.withPolicyEpoch(properties.policyEpoch()));
        this.store = Properties.of("ratelimit.redis.deadline", () -> ruled.withDeadline(properties.deadline()));
        this.closing = closing.cache();
    }

    /** Applications that share a server do not share limits that happen to have one name. */
    private static String prefixOf(@Nullable String application) {
        return application == null || application.isBlank() ? "ratelimit" : "ratelimit:" + application.strip();
    }

    /**
     * On a server for the limits alone, which has to be there: the application waits for it, and does not start without.
     *
     * @param application its name, if it has one
     */
    static RedisSharedStore connect(RateLimitProperties.Redis properties, @Nullable String application) {
        List<String> nodes = Properties.orNone(properties.clusterUris());
        Properties.check(
                properties.uri() == null || nodes.isEmpty(),
                "ratelimit.redis.cluster-uris",
                "is instead of ratelimit.redis.uri: choose one");
        String property = nodes.isEmpty() ? "ratelimit.redis.uri" : "ratelimit.redis.cluster-uris";
        RedisStore connected = Properties.of(
                property,
                () -> atHand(
                        property,
                        nodes.isEmpty()
                                ? RedisStore.connect(Objects.requireNonNull(properties.uri()))
                                : RedisStore.connectCluster(nodes.toArray(String[]::new))));
        return new RedisSharedStore(connected, properties, application, connected.close());
    }

    /** Spring makes beans one after the other, on a thread that may wait; connecting gives up by itself. */
    private static RedisStore atHand(String property, Mono<RedisStore> connecting) {
        try {
            return connecting.toFuture().join();
        } catch (CompletionException failed) {
            if (failed.getCause() instanceof RedisUnavailableException unreachable) {
                throw new RateLimitConfigurationException(
                        property, String.valueOf(unreachable.getMessage()), unreachable);
            }
            throw failed;
        }
    }

    /**
     * On the application's own client, with connections of our own, which are closed before it is.
     *
     * @param application its name, if it has one
     */
    static RedisSharedStore on(
            AbstractRedisClient client, RateLimitProperties.Redis properties, @Nullable String application) {
        if (client instanceof RedisClusterClient cluster) {
            StatefulRedisClusterConnection<String, String> connection = cluster.connect(StringCodec.UTF8);
            StatefulRedisPubSubConnection<String, String> signals = cluster.connectPubSub(StringCodec.UTF8);
            RedisStore store = RedisStore.of(connection).withSignals(signals);
            return new RedisSharedStore(store, properties, application, closing(signals, connection));
        }
        RedisClient standalone = (RedisClient) client;
        StatefulRedisConnection<String, String> connection = standalone.connect(StringCodec.UTF8);
        StatefulRedisPubSubConnection<String, String> signals = standalone.connectPubSub(StringCodec.UTF8);
        RedisStore store = RedisStore.of(connection).withSignals(signals);
        return new RedisSharedStore(store, properties, application, closing(signals, connection));
    }

    private static Mono<Void> closing(AsyncCloseable... connections) {
        return Mono.whenDelayError(List.of(connections).stream()
                .map(connection -> Mono.fromCompletionStage(connection::closeAsync))
                .toList());
    }

    @Override
    public RateLimitStore store(WhenUnavailable mode, @Nullable RateLimitPolicy share) {
        return store.whenUnavailable(
                switch (mode) {
                    case OPEN -> FailureMode.open();
                    case CLOSED -> FailureMode.closed();
                    case LOCAL -> FailureMode.local(Objects.requireNonNull(share, "share"));
                });
    }

    @Override
    public Mono<Condition> condition() {
        return store.selfTest()
                .map(test -> new Condition(
                        test.passed(),
                        test.findings().stream().map(SelfTest.Finding::toString).toList()));
    }

    @Override
    public Mono<Void> close() {
        return closing;
    }

    @Override
    public String toString() {
        return store.toString();
    }
}
