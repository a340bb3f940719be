package io.github.reactorratelimit.testing.redis;

import io.github.reactorratelimit.testing.Await;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.resource.ClientResources;
import java.time.Duration;
import java.util.function.Function;

/** The Lettuce clients of the harness: they share their threads, which are daemons and live as long as the JVM. */
final class Clients {

    static final ClientResources RESOURCES = ClientResources.builder()
            .ioThreadPoolSize(2)
            .computationThreadPoolSize(2)
            .build();

    static final Duration PATIENCE = Duration.ofSeconds(2);
    private static final RedisClient ADMIN = RedisClient.create(RESOURCES);

    static {
        ADMIN.setOptions(ClientOptions.builder().autoReconnect(false).build());
    }

    private Clients() {}

    static RedisURI loopback(int port) {
        return RedisURI.builder()
                .withHost("127.0.0.1")
                .withPort(port)
                .withTimeout(PATIENCE)
                .build();
    }

    /** The same server for tests: Lettuce gives up no earlier than they do, however busy the machine is. */
    static RedisURI patient(RedisURI uri) {
        return RedisURI.builder(uri).withTimeout(Await.LONG).build();
    }

    /** Asks a server that may be down or paused, on a new connection; gives up soon. */
    static <T> T ask(RedisURI uri, Function<RedisCommands<String, String>, T> question) {
        return askOn(RedisURI.builder(uri).withTimeout(PATIENCE).build(), question);
    }

    /** Asks a server that is up, on a new connection, however busy the machine is. */
    static <T> T askPatiently(RedisURI uri, Function<RedisCommands<String, String>, T> question) {
        return askOn(patient(uri), question);
    }

    private static <T> T askOn(RedisURI uri, Function<RedisCommands<String, String>, T> question) {
        try (StatefulRedisConnection<String, String> connection = ADMIN.connect(uri)) {
            return question.apply(connection.sync());
        }
    }
}
