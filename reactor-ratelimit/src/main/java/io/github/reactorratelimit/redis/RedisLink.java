package io.github.reactorratelimit.redis;

import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** The connections of a store, shared by all its limiters and by all stores made from it. */
final class RedisLink {

    private final StatefulConnection<String, String> connection;
    private final RedisClusterAsyncCommands<String, String> commands;
    private final @Nullable SignalHub hub;
    private final Mono<Void> closing;

    private RedisLink(
            StatefulConnection<String, String> connection,
            RedisClusterAsyncCommands<String, String> commands,
            @Nullable SignalHub hub,
            Mono<Void> closing) {
        this.connection = connection;
        this.commands = commands;
        this.hub = hub;
        this.closing = closing;
    }

    static RedisLink of(StatefulRedisConnection<String, String> connection) {
        return new RedisLink(connection, connection.async(), null, Mono.empty());
    }

    static RedisLink of(StatefulRedisClusterConnection<String, String> connection) {
        return new RedisLink(connection, connection.async(), null, Mono.empty());
    }

    RedisLink withSignals(StatefulRedisPubSubConnection<String, String> pubSub) {
        return new RedisLink(connection, commands, new SignalHub(commands, pubSub), closing);
    }

    /** For connections that are ours. */
    RedisLink closedBy(Mono<Void> shutdown) {
        return new RedisLink(connection, commands, hub, shutdown);
    }

    Mono<Void> close() {
        return closing;
    }

    StatefulConnection<String, String> connection() {
        return connection;
    }

    RedisClusterAsyncCommands<String, String> commands() {
        return commands;
    }

    Signals signals(RedisKeys keys) {
        return hub == null ? Signals.NONE : hub.open(keys.signalChannel());
    }

    Optional<SignalHub> hub() {
        return Optional.ofNullable(hub);
    }
}
