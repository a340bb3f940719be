package io.github.reactorratelimit.redis;

import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCredentials;
import io.lettuce.core.RedisURI;
import io.lettuce.core.StaticCredentialsProvider;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.Delay;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** Makes connections that suit a limiter, see {@link ConnectionOptions}; reads go to the master. */
final class RedisConnector {

    /**
     * However long Redis was away: Lettuce's own delay grows to half a minute, all of which would be
     * degraded.
     */
    static final Duration RECONNECT_AT_LEAST_EVERY = Duration.ofSeconds(1);

    private static final Duration RECONNECT_AT_MOST_EVERY = Duration.ofMillis(1);
    private static final long FIRST_RECONNECT_MILLIS = 10;

    private static final long SHUTDOWN_SECONDS = 2;

    /**
     * Lettuce may never confirm a shutdown that comes between others of the same client, or a close that meets a node of a
     * Cluster being connected to; it goes on by itself.
     */
    private static final Duration PATIENCE_WITH_SHUTDOWN = Duration.ofSeconds(2 * SHUTDOWN_SECONDS);

    private RedisConnector() {}

    /**
     * Connections that are there.
     *
     * @param pubSub for signals; null if there is none
     * @param closing closes them if they are ours
     */
    record Opened(
            StatefulConnection<String, String> connection,
            @Nullable StatefulRedisPubSubConnection<String, String> pubSub,
            Mono<Void> closing) {

        /** The connection if it is one to a Cluster. */
        @Nullable
        StatefulRedisClusterConnection<String, String> cluster() {
            return connection instanceof StatefulRedisClusterConnection<String, String> cluster ? cluster : null;
        }

        private StatefulRedisConnection<String, String> single() {
            return (StatefulRedisConnection<String, String>) connection;
        }

        RedisClusterAsyncCommands<String, String> commands() {
            StatefulRedisClusterConnection<String, String> cluster = cluster();
            return cluster == null ? single().async() : cluster.async();
        }

        /** The servers that decide: one, or the masters of a Cluster. */
        Flux<Server> servers() {
            StatefulRedisClusterConnection<String, String> cluster = cluster();
            return cluster == null
                    ? Flux.just(new Server("", Mono.just(single()), key -> true))
                    : Flux.defer(() -> Flux.fromIterable(List.copyOf(cluster.getPartitions())))
                            .filter(node -> !node.hasNoSlots())
                            .map(node -> master(cluster, node));
        }

        private static Server master(StatefulRedisClusterConnection<String, String> cluster, RedisClusterNode node) {
            String host = node.getUri().getHost();
            int port = node.getUri().getPort();
            return new Server(
                    host + ":" + port + ": ",
                    // Made for a host and a port: the one that carries commands.
                    Mono.fromCompletionStage(() -> cluster.getConnectionAsync(host, port)),
                    key -> node.hasSlot(SlotHash.getSlot(key)));
        }
    }

    /**
     * A server that decides.
     *
     * @param where begins what is said about it; empty if there is only one
     * @param connection the one that carries commands
     * @param holds whether a key lies there
     */
    record Server(String where, Mono<StatefulRedisConnection<String, String>> connection, Predicate<String> holds) {}

    /** The exception says nothing of the text: it may hold a password. */
    static RedisURI parse(String uri) {
        try {
            RedisURI parsed = RedisURI.create(Objects.requireNonNull(uri, "uri"));
            if (parsed.getTimeout().equals(RedisURI.DEFAULT_TIMEOUT_DURATION)) {
                parsed.setTimeout(ConnectionOptions.CONNECT_TIMEOUT);
            }
            haveCredentialsAtHand(parsed);
            parsed.getSentinels().forEach(RedisConnector::haveCredentialsAtHand);
            return parsed;
        } catch (IllegalArgumentException unparsable) {
            throw new IllegalArgumentException("uri must look like redis://host:port, rediss://host:port (TLS) or"
                    + " redis-sentinel://host:port,host:port#master, with user:password@ before the host if need be,"
                    + " special characters percent-encoded; it is not shown here because it may hold a password");
        }
    }

    /**
     * A URI's text hides its credentials behind a provider that Lettuce asks on another thread. A refusal
     * that comes back there may lose its reason: the connection's thread may see the end of the connection
     * first.
     */
    private static void haveCredentialsAtHand(RedisURI parsed) {
        RedisCredentials inTheText =
                parsed.getCredentialsProvider().resolveCredentials().toFuture().getNow(null);
        if (inTheText != null) {
            parsed.setCredentialsProvider(new StaticCredentialsProvider(inTheText));
        }
    }

    /** Each subscription connects once more. */
    static Mono<Opened> connect(RedisURI uri) {
        ConnectionOptions.requireVersion();
        return Mono.defer(() -> {
            ClientResources resources = resources();
            RedisClient client = RedisClient.create(resources, uri);
            client.setOptions(ConnectionOptions.ofServer());
            return open(
                    shutdown(client, resources),
                    List.of(uri),
                    Mono.fromCompletionStage(() -> client.connectAsync(StringCodec.UTF8, uri)),
                    Mono.fromCompletionStage(() -> client.connectPubSubAsync(StringCodec.UTF8, uri)));
        });
    }

    /** Each subscription connects once more. */
    static Mono<Opened> connectCluster(List<RedisURI> uris) {
        ConnectionOptions.requireVersion();
        if (uris.isEmpty()) {
            throw new IllegalArgumentException("uris must name at least one node of the Cluster");
        }
        return Mono.defer(() -> {
            ClientResources resources = resources();
            RedisClusterClient client = RedisClusterClient.create(resources, uris);
            client.setOptions(ConnectionOptions.ofCluster());
            return open(
                    shutdown(client, resources),
                    uris,
                    Mono.fromCompletionStage(client::refreshPartitionsAsync)
                            .then(Mono.fromCompletionStage(() -> client.connectAsync(StringCodec.UTF8))),
                    Mono.fromCompletionStage(() -> client.connectPubSubAsync(StringCodec.UTF8)));
        });
    }

    /** With connections of the client's own kind. Each subscription connects once more. */
    static Mono<Opened> connect(RedisClient client) {
        return inBackground(client::connect, client::connectPubSub);
    }

    /** The same to a Cluster. */
    static Mono<Opened> connect(RedisClusterClient client) {
        return inBackground(client::connect, client::connectPubSub);
    }

    /** A client tells where it connects to only by calls that block; there are threads for these. */
    private static Mono<Opened> inBackground(
            Supplier<? extends StatefulConnection<String, String>> commands,
            Supplier<? extends StatefulRedisPubSubConnection<String, String>> listening) {
        ConnectionOptions.requireVersion();
        return Mono.create(sink -> {
            Mono<Opened> opened = Mono.<StatefulConnection<String, String>>fromSupplier(commands)
                    .doOnNext(ConnectionOptions::log)
                    .zipWhen(
                            connection -> Mono.fromSupplier(listening)
                                    .onErrorResume(failed -> Mono.fromCompletionStage(connection::closeAsync)
                                            .onErrorComplete()
                                            .then(Mono.error(failed))),
                            (connection, pubSub) -> new Opened(
                                    connection,
                                    pubSub,
                                    Mono.whenDelayError(
                                                    Mono.fromCompletionStage(pubSub::closeAsync),
                                                    Mono.fromCompletionStage(connection::closeAsync))
                                            .timeout(PATIENCE_WITH_SHUTDOWN, Mono.empty())))
                    .onErrorMap(error -> unreachable("", error))
                    .subscribeOn(Schedulers.boundedElastic())
                    .cache();
            // Lettuce connects all the same.
            sink.onCancel(
                    () -> opened.flatMap(Opened::closing).onErrorComplete().subscribe());
            opened.subscribe(sink::success, sink::error);
        });
    }

    /** To be shut down with their client, which does so only with those that it made itself. */
    static ClientResources resources() {
        return ClientResources.builder()
                .reconnectDelay(Delay.equalJitter(
                        RECONNECT_AT_MOST_EVERY,
                        RECONNECT_AT_LEAST_EVERY,
                        FIRST_RECONNECT_MILLIS,
                        TimeUnit.MILLISECONDS))
                .build();
    }

    /**
     * The client of a Cluster blocks in its shutdown until its connections are closed: on a thread for that alone, because the
     * caller's may be the connection's, and those of a shared scheduler have other work.
     */
    private static Mono<Void> shutdown(AbstractRedisClient client, ClientResources resources) {
        Mono<Void> ofClient = Mono.using(
                        () -> Schedulers.newBoundedElastic(1, 1, "redis-shutdown", 1, true),
                        thread -> Mono.fromCallable(() -> client.shutdownAsync(0, SHUTDOWN_SECONDS, TimeUnit.SECONDS))
                                .subscribeOn(thread),
                        Scheduler::dispose)
                .flatMap(Mono::<Void>fromCompletionStage)
                .timeout(PATIENCE_WITH_SHUTDOWN, Mono.empty());
        Mono<Void> ofResources = Mono.<Void>create(ended -> resources
                        .shutdown(0, SHUTDOWN_SECONDS, TimeUnit.SECONDS)
                        .addListener(end -> ended.success()))
                .timeout(PATIENCE_WITH_SHUTDOWN, Mono.empty());
        // concatDelayError would do, but it reports an error as dropped when it is cancelled at its end.
        return ofClient.onErrorResume(failed -> ofResources.then(Mono.error(failed)))
                .then(ofResources);
    }

    /** On a thread that may run the user's code; what was opened in vain is closed. */
    private static Mono<Opened> open(
            Mono<Void> shutdown,
            List<RedisURI> uris,
            Mono<? extends StatefulConnection<String, String>> commands,
            Mono<StatefulRedisPubSubConnection<String, String>> signals) {
        Mono<Opened> opened = commands.zipWhen(
                        made -> signals, (connection, pubSub) -> new Opened(connection, pubSub, shutdown))
                .onErrorResume(error ->
                        shutdown.onErrorComplete().then(Mono.error(unreachable(" at " + addresses(uris), error))))
                .publishOn(Schedulers.boundedElastic());
        return Mono.create(sink -> {
            Disposable connects = opened.subscribe(sink::success, sink::error);
            sink.onCancel(() -> {
                connects.dispose();
                shutdown.onErrorComplete().subscribe();
            });
        });
    }

    /** @param where with a space before it; empty if that is not known */
    private static RedisUnavailableException unreachable(String where, Throwable error) {
        Throwable root = error;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return new RedisUnavailableException("cannot connect to Redis" + where + ": " + root.getMessage() + ". "
                + advice(String.valueOf(root.getMessage())));
    }

    private static String advice(String reason) {
        if (reason.startsWith("NOAUTH") || reason.startsWith("WRONGPASS") || reason.startsWith("ERR AUTH")) {
            return "Put user and password into the URI: redis://user:password@host:port.";
        }
        return "Is a server up there, may this machine reach it, and is it redis:// where it should be rediss:// (TLS)?";
    }

    /** Hosts and ports only. */
    private static String addresses(List<RedisURI> uris) {
        return uris.stream()
                .flatMap(uri -> uri.getSentinels().isEmpty() ? Stream.of(uri) : uri.getSentinels().stream())
                .map(uri -> uri.getSocket() == null ? uri.getHost() + ":" + uri.getPort() : uri.getSocket())
                .collect(Collectors.joining(", "));
    }
}
