package io.github.reactorratelimit.redis.harness;

import io.github.reactorratelimit.redis.RedisStore;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.ClientOptions.DisconnectedBehavior;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.sync.RedisClusterCommands;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.Delay;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A connection with the options that the store asks for, to one server, to Sentinels or to a cluster. */
final class Connected implements AutoCloseable {

    private static final int QUEUE = 10_000;
    private static final Duration FIRST_RECONNECT = Duration.ofMillis(1);
    private static final Duration LAST_RECONNECT = Duration.ofMillis(100);

    private final RedisStore store;
    private final RedisClusterCommands<String, String> commands;
    private final Runnable end;

    private Connected(RedisStore store, RedisClusterCommands<String, String> commands, Runnable end) {
        this.store = store;
        this.commands = commands;
        this.end = end;
    }

    /** To a server, or to the master that Sentinels name. */
    static Connected to(RedisURI uri) {
        ClientResources resources = resources();
        RedisClient client = RedisClient.create(resources, uri);
        client.setOptions(safe(ClientOptions.builder()).build());
        StatefulRedisConnection<String, String> connection = client.connect();
        return new Connected(RedisStore.of(connection), connection.sync(), () -> {
            client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
            resources.shutdown(0, 2, TimeUnit.SECONDS);
        });
    }

    /** To a cluster, whose changes it follows. */
    static Connected toCluster(List<RedisURI> uris) {
        ClientResources resources = resources();
        RedisClusterClient client = RedisClusterClient.create(resources, uris);
        ClusterClientOptions.Builder options = ClusterClientOptions.builder();
        safe(options);
        client.setOptions(options.topologyRefreshOptions(ClusterTopologyRefreshOptions.builder()
                        .adaptiveRefreshTriggersTimeout(Duration.ofMillis(100))
                        .enablePeriodicRefresh(Duration.ofSeconds(1))
                        .build())
                .build());
        StatefulRedisClusterConnection<String, String> connection = client.connect();
        return new Connected(RedisStore.of(connection), connection.sync(), () -> {
            client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
            resources.shutdown(0, 2, TimeUnit.SECONDS);
        });
    }

    private static ClientResources resources() {
        return ClientResources.builder()
                .ioThreadPoolSize(2)
                .computationThreadPoolSize(2)
                .reconnectDelay(Delay.exponential(
                        FIRST_RECONNECT.toMillis(), LAST_RECONNECT.toMillis(), TimeUnit.MILLISECONDS, 2))
                .build();
    }

    private static ClientOptions.Builder safe(ClientOptions.Builder options) {
        return options.autoReconnect(true)
                .disconnectedBehavior(DisconnectedBehavior.REJECT_COMMANDS)
                .replayFilter(command -> true)
                .requestQueueSize(QUEUE);
    }

    RedisStore store() {
        return store;
    }

    /** For the harness itself. */
    RedisClusterCommands<String, String> commands() {
        return commands;
    }

    /** The server's time in microseconds, the clock of all stamps. */
    long serverMicros() {
        List<String> time = commands.eval("return redis.call('TIME')", ScriptOutputType.MULTI, "{time}");
        return Long.parseLong(time.get(0)) * 1_000_000 + Long.parseLong(time.get(1));
    }

    @Override
    public void close() {
        end.run();
    }
}
