package io.github.reactorratelimit.testing.redis;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One server: the user's own if {@code REDIS_URI} names it, else a process of ours. */
public final class Standalone implements Topology {

    private final RedisURI uri;
    private final @Nullable RedisServer server;
    private final RedisClient client;

    private Standalone(RedisURI uri, @Nullable RedisServer server) {
        this.uri = Clients.patient(uri);
        this.server = server;
        this.client = RedisClient.create(Clients.RESOURCES, this.uri);
    }

    /** The user's server if there is one, else a new process. */
    public static Standalone open() {
        return RedisBinary.userServer().map(user -> new Standalone(user, null)).orElseGet(Standalone::start);
    }

    /** A new process in any case: for tests that stop it, fill it or configure it. */
    public static Standalone start(String... directives) {
        RedisServer server = RedisServer.start(directives);
        return new Standalone(server.uri(), server);
    }

    /** Where it is. */
    public RedisURI uri() {
        return uri;
    }

    /** Where it is, as text. */
    public String address() {
        return server == null ? uri.toURI().toString() : server.address();
    }

    /** A new connection with Lettuce's default options. */
    public StatefulRedisConnection<String, String> connect() {
        return client.connect();
    }

    /** Whether it is a process of ours, which may be stopped. */
    public boolean isOurs() {
        return server != null;
    }

    /** The process; fails for the user's server, which is not ours to stop. */
    public RedisServer server() {
        if (server == null) {
            throw new IllegalStateException("REDIS_URI names this server: use Standalone.start() for one to stop");
        }
        return server;
    }

    @Override
    public List<RedisURI> dataServers() {
        return List.of(uri);
    }

    @Override
    public void close() {
        client.shutdown();
        if (server != null) {
            server.close();
        }
    }
}
