package io.github.reactorratelimit.redis;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.ClientOptions.DisconnectedBehavior;
import io.lettuce.core.LettuceVersion;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandType;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.stream.Stream;
import reactor.util.Logger;
import reactor.util.Loggers;

/** What the options of a user's connection would do to a limiter, and what to set instead. */
final class ConnectionAdvice {

    private static final Logger LOG = Loggers.getLogger(RedisConnections.class);

    private static final Set<Object> ADVISED =
            Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

    private ConnectionAdvice() {}

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
        List<String> findings = of(connection.getOptions());
        if (!findings.isEmpty() && ADVISED.add(connection)) {
            LOG.warn(
                    "The options of the Redis connection do not suit a rate limiter. {} See docs/redis.md, or let"
                            + " RedisStore.connect(uri) make the connection.",
                    String.join(" ", findings));
        }
    }

    /** A sentence for each option that is not safe. */
    static List<String> of(ClientOptions options) {
        List<String> findings = new ArrayList<>();
        if (queuesWhileDisconnected(options)) {
            findings.add("Set disconnectedBehavior(REJECT_COMMANDS): otherwise commands queue up while there is no"
                    + " connection, and run late.");
        }
        if (options.getRequestQueueSize() == Integer.MAX_VALUE) {
            findings.add("Set requestQueueSize(" + RedisConnector.REQUEST_QUEUE_SIZE
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
