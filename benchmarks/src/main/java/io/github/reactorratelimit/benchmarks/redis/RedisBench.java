package io.github.reactorratelimit.benchmarks.redis;

import io.github.reactorratelimit.embedded.RedisServer;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import java.time.Duration;

/** A server of its own and a client for it. */
final class RedisBench implements AutoCloseable {

    /** Generous, so that a busy machine fails nothing that it only delays. */
    static final Duration PATIENCE = Duration.ofSeconds(10);

    private final RedisServer server;
    private final RedisClient client;

    private RedisBench(RedisServer server) {
        this.server = server;
        this.client = RedisClient.create(server.uri());
    }

    static RedisBench start() {
        return new RedisBench(RedisServer.start());
    }

    RedisClient client() {
        return client;
    }

    RedisURI uri() {
        return RedisURI.create(server.uri());
    }

    @Override
    public void close() {
        client.shutdown(Duration.ZERO, PATIENCE);
        server.close();
    }
}
