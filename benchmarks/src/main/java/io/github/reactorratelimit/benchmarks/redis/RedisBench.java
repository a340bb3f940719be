package io.github.reactorratelimit.benchmarks.redis;

import io.github.reactorratelimit.benchmarks.RedisProcess;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** A server of its own and a client for it. */
final class RedisBench implements AutoCloseable {

    /** Generous, so that a busy machine fails nothing that it only delays. */
    static final Duration PATIENCE = Duration.ofSeconds(20);

    private final RedisProcess server;
    private final RedisClient client;

    private RedisBench(RedisProcess server) {
        this.server = server;
        this.client = RedisClient.create(server.uri());
    }

    static RedisBench start() throws IOException {
        RedisBench bench = new RedisBench(RedisProcess.start());
        bench.awaitServer();
        return bench;
    }

    private void awaitServer() {
        for (int attempt = 1; ; attempt++) {
            try (StatefulRedisConnection<String, String> connection = client.connect()) {
                connection.sync().ping();
                return;
            } catch (RedisConnectionException notYet) {
                if (attempt == 100) {
                    throw notYet;
                }
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(50));
            }
        }
    }

    RedisClient client() {
        return client;
    }

    RedisURI uri() {
        return server.uri();
    }

    void forgetAll() {
        try (StatefulRedisConnection<String, String> connection = client.connect()) {
            connection.sync().flushall();
        }
    }

    @Override
    public void close() throws IOException {
        client.shutdown(Duration.ZERO, PATIENCE);
        server.close();
    }
}
