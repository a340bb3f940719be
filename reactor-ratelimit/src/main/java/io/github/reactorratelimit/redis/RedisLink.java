package io.github.reactorratelimit.redis;

import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import org.jspecify.annotations.Nullable;

/** The connections of a store, shared by all its limiters and by all stores made from it. */
final class RedisLink {

    private final StatefulConnection<String, String> connection;
    private final RedisClusterAsyncCommands<String, String> commands;
    private final @Nullable SignalHub hub;

    private RedisLink(
            StatefulConnection<String, String> connection,
            RedisClusterAsyncCommands<String, String> commands,
            @Nullable SignalHub hub) {
        this.connection = connection;
        this.commands = commands;
        this.hub = hub;
    }

    static RedisLink of(
            StatefulConnection<String, String> connection, RedisClusterAsyncCommands<String, String> commands) {
        return new RedisLink(connection, commands, null);
    }

    RedisLink withSignals(StatefulRedisPubSubConnection<String, String> pubSub) {
        return new RedisLink(connection, commands, new SignalHub(commands, pubSub));
    }

    RedisClusterAsyncCommands<String, String> commands() {
        return commands;
    }

    Signals signals(RedisKeys keys) {
        return hub == null ? Signals.NONE : hub.open(keys.signalChannel());
    }
}
