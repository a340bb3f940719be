package io.github.reactorratelimit.examples.playground.cluster;

import io.github.reactorratelimit.testing.redis.RedisServer;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.ClientOptions.DisconnectedBehavior;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.Delay;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/**
 * The Redis of one page: one process at most, which is there when it was asked for and until the page goes. What is done to it is done aside,
 * because it blocks, one after the other, whether or not somebody still waits for it.
 */
final class PageRedis {

    private static final int THREADS = 2;
    private static final int REQUEST_QUEUE_SIZE = 1_000;
    private static final Duration RECONNECT_EVERY = Duration.ofMillis(250);
    private static final Duration SHUTDOWN = Duration.ofSeconds(2);

    private CompletableFuture<?> lastDeed = CompletableFuture.completedFuture(true);
    private boolean closed;
    private volatile @Nullable Started started;

    private record Started(RedisServer server, ClientResources resources, RedisClient client) {}

    /** What the page calls it: not there yet, there, or killed. */
    String state() {
        Started seen = started;
        if (seen == null) {
            return "none";
        }
        return seen.server().isAlive() ? "up" : "down";
    }

    /** Starts it, for the first time or again; the first time, {@code connecting} is given a client for it. */
    Mono<Void> start(Consumer<RedisClient> connecting) {
        return aside(() -> {
            Started seen = started;
            if (seen == null) {
                open(connecting);
            } else if (!seen.server().isAlive()) {
                seen.server().restart();
            }
        });
    }

    /** Ends the process at once, if there is one. */
    Mono<Void> kill() {
        return aside(() -> {
            Started seen = started;
            if (seen != null && seen.server().isAlive()) {
                seen.server().kill();
            }
        });
    }

    /** Has it answer nobody for a while, if it is there. */
    Mono<Void> freeze(Duration duration) {
        return aside(() -> {
            Started seen = started;
            if (seen != null && seen.server().isAlive()) {
                try (StatefulRedisConnection<String, String> connection =
                        seen.client().connect()) {
                    connection.sync().clientPause(duration.toMillis());
                }
            }
        });
    }

    /** Ends all of it, after what is under way; whatever is asked for later is refused. */
    synchronized void close() {
        if (!closed) {
            aside(this::end);
            closed = true;
        }
    }

    private void open(Consumer<RedisClient> connecting) {
        RedisServer server = RedisServer.start();
        ClientResources resources = ClientResources.builder()
                .ioThreadPoolSize(THREADS)
                .computationThreadPoolSize(THREADS)
                // Who starts Redis again wants to see what happens then, and not after some time.
                .reconnectDelay(Delay.constant(RECONNECT_EVERY))
                .build();
        RedisClient client = RedisClient.create(resources, server.address());
        client.setOptions(ClientOptions.builder()
                .disconnectedBehavior(DisconnectedBehavior.REJECT_COMMANDS)
                .replayFilter(command -> true)
                .requestQueueSize(REQUEST_QUEUE_SIZE)
                .build());
        started = new Started(server, resources, client);
        try {
            connecting.accept(client);
        } catch (RuntimeException failed) {
            end();
            throw failed;
        }
    }

    private void end() {
        Started ended = started;
        started = null;
        if (ended != null) {
            ended.server().close();
            ended.client().shutdown(Duration.ZERO, SHUTDOWN);
            ended.resources()
                    .shutdown(0, SHUTDOWN.toSeconds(), TimeUnit.SECONDS)
                    .awaitUninterruptibly();
        }
    }

    private synchronized Mono<Void> aside(Runnable deed) {
        if (closed) {
            throw new RejectedExecutionException("the page has gone");
        }
        CompletableFuture<Void> done =
                lastDeed.handle((before, failure) -> true).thenRunAsync(deed, Schedulers.boundedElastic()::schedule);
        lastDeed = done;
        return Mono.fromFuture(done, true);
    }
}
