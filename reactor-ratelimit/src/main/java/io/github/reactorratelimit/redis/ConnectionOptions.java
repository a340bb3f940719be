package io.github.reactorratelimit.redis;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.ClientOptions.DisconnectedBehavior;
import io.lettuce.core.LettuceVersion;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SocketOptions.KeepAliveOptions;
import io.lettuce.core.SocketOptions.TcpUserTimeoutOptions;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.resource.EpollProvider;
import io.lettuce.core.resource.IOUringProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.stream.Stream;
import reactor.util.Logger;
import reactor.util.Loggers;

/**
 * The options that suit a limiter: nothing waits in a queue while there is no connection, nothing is sent
 * twice after a reconnect, dead connections are noticed. Of a user's connection, what its options would do
 * instead.
 *
 * <p>None of Lettuce's options is made before {@link #requireVersion} could say that Lettuce is too old.
 */
final class ConnectionOptions {

    private static final Logger LOG = Loggers.getLogger(ConnectionOptions.class);

    /** Commands in flight; more are refused, which is what the failure mode is for. */
    static final int REQUEST_QUEUE_SIZE = 16_384;

    /** Of a URI that says nothing else; Lettuce's own is a minute. */
    static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(5);

    /** A failover is noticed by its errors; this is how often they may cause a refresh. */
    private static final Duration REFRESH_AT_MOST_EVERY = Duration.ofSeconds(1);

    private static final Duration REFRESH_AT_LEAST_EVERY = Duration.ofSeconds(30);

    private static final Set<Object> ADVISED =
            Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

    private ConnectionOptions() {}

    static ClientOptions ofServer() {
        return options(ClientOptions.builder()).build();
    }

    private static <B extends ClientOptions.Builder> B options(B builder) {
        builder.autoReconnect(true)
                .disconnectedBehavior(DisconnectedBehavior.REJECT_COMMANDS)
                .replayFilter(command -> true)
                .requestQueueSize(REQUEST_QUEUE_SIZE)
                .socketOptions(SocketOptions.builder()
                        .connectTimeout(CONNECT_TIMEOUT)
                        .keepAlive(keepAlive())
                        .tcpUserTimeout(userTimeout())
                        .build());
        return builder;
    }

    /** An idle connection whose other end is gone is noticed after about 11 seconds, not after two hours. */
    private static KeepAliveOptions keepAlive() {
        return KeepAliveOptions.builder()
                .enable()
                .idle(Duration.ofSeconds(5))
                .interval(Duration.ofSeconds(2))
                .count(3)
                .build();
    }

    /**
     * What was sent is acknowledged by then, or the connection ends. Only where there is a native transport.
     */
    private static TcpUserTimeoutOptions userTimeout() {
        return TcpUserTimeoutOptions.builder()
                .enable(EpollProvider.isAvailable() || IOUringProvider.isAvailable())
                .tcpUserTimeout(Duration.ofSeconds(10))
                .build();
    }

    static ClusterClientOptions ofCluster() {
        return options(ClusterClientOptions.builder())
                .topologyRefreshOptions(ClusterTopologyRefreshOptions.builder()
                        .adaptiveRefreshTriggersTimeout(REFRESH_AT_MOST_EVERY)
                        .enablePeriodicRefresh(REFRESH_AT_LEAST_EVERY)
                        .build())
                .build();
    }

    /**
     * Before 7.0 a connection does not tell its codec, and every decision would fail.
     *
     * @throws IllegalStateException if Lettuce on the class path is older
     */
    static void requireVersion() {
        try {
            StatefulConnection.class.getMethod("getCodec");
        } catch (NoSuchMethodException old) {
            throw new IllegalStateException(
                    "RedisStore needs Lettuce 7.0 or later (io.lettuce:lettuce-core); the version on the class path is "
                            + LettuceVersion.getVersion(),
                    old);
        }
    }

    /** One line for a connection, however many stores it has; none if there is nothing to say. */
    static void log(StatefulConnection<?, ?> connection) {
        List<String> findings = advice(connection.getOptions());
        if (!findings.isEmpty() && ADVISED.add(connection)) {
            LOG.warn(
                    "The options of the Redis connection do not suit a rate limiter. {} See docs/redis.md, or let"
                            + " RedisStore.connect(uri) make the connection.",
                    String.join(" ", findings));
        }
    }

    /** A sentence for each option that is not safe. */
    static List<String> advice(ClientOptions options) {
        List<String> findings = new ArrayList<>();
        if (queuesWhileDisconnected(options)) {
            findings.add("Set disconnectedBehavior(REJECT_COMMANDS): otherwise commands queue up while there is no"
                    + " connection, and run late.");
        }
        if (options.getRequestQueueSize() == Integer.MAX_VALUE) {
            findings.add("Set requestQueueSize(" + REQUEST_QUEUE_SIZE
                    + "): otherwise commands without an answer fill the memory.");
        }
        if (options.isAutoReconnect() && replays(options)) {
            findings.add("Set replayFilter(command -> true): otherwise a command that ran but whose answer was lost is"
                    + " sent again after a reconnect and counts twice.");
        }
        if (options instanceof ClusterClientOptions cluster && neverRefreshes(cluster.getTopologyRefreshOptions())) {
            findings.add(
                    "Leave the adaptive triggers of topologyRefreshOptions on: otherwise a failover is not noticed.");
        }
        return List.copyOf(findings);
    }

    private static boolean queuesWhileDisconnected(ClientOptions options) {
        return options.getDisconnectedBehavior() == DisconnectedBehavior.ACCEPT_COMMANDS
                || (options.getDisconnectedBehavior() == DisconnectedBehavior.DEFAULT && options.isAutoReconnect());
    }

    private static boolean replays(ClientOptions options) {
        return Stream.of(CommandType.EVALSHA, CommandType.EVAL)
                .map(type -> new Command<>(type, new StatusOutput<>(StringCodec.UTF8)))
                .anyMatch(command -> !options.getReplayFilter().test(command));
    }

    private static boolean neverRefreshes(ClusterTopologyRefreshOptions refresh) {
        return !refresh.isPeriodicRefreshEnabled()
                && refresh.getAdaptiveRefreshTriggers().isEmpty();
    }
}
