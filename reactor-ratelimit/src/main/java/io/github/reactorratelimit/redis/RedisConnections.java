package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.redis.RedisConnector.Opened;
import io.github.reactorratelimit.redis.SelfTest.Finding;
import io.github.reactorratelimit.redis.SelfTest.Severity;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * The connections of a store, which are there or are being made. Shared by its limiters and by all stores
 * made from it.
 */
final class RedisConnections {

    private final ConnectionAttempt attempt;
    private final CommandQueues queues;
    private final boolean isCluster;
    private final boolean hasPubSub;
    private final boolean selfTest;

    /** However many limiters come and go, each prefix is tested once. */
    private final Set<String> testedPrefixes = ConcurrentHashMap.newKeySet();

    private RedisConnections(
            ConnectionAttempt attempt, CommandQueues queues, boolean isCluster, boolean hasPubSub, boolean selfTest) {
        this.attempt = attempt;
        this.queues = queues;
        this.isCluster = isCluster;
        this.hasPubSub = hasPubSub;
        this.selfTest = selfTest;
    }

    /** A user's connection, without signals. */
    static RedisConnections of(StatefulConnection<String, String> connection) {
        return of(Opened.of(connection, null));
    }

    static RedisConnections of(Opened opened) {
        boolean isCluster = opened.connection() instanceof StatefulRedisClusterConnection;
        ConnectionAttempt attempt = ConnectionAttempt.done(opened);
        CommandQueues queues =
                NodeQueues.shared(opened.connection(), new NodeQueues(attempt::opened, isCluster, attempt::check));
        return new RedisConnections(attempt, queues, isCluster, opened.pubSub() != null, true);
    }

    /**
     * Connections that are made when the first limiter is opened.
     *
     * @param connecting connects anew on each subscription
     */
    static RedisConnections later(Mono<Opened> connecting, boolean isCluster) {
        ConnectionAttempt attempt = new ConnectionAttempt(connecting);
        return new RedisConnections(
                attempt, new NodeQueues(attempt::opened, isCluster, attempt::check), isCluster, true, true);
    }

    /**
     * Sends commands that are none of the script's, as PUBLISH.
     *
     * @throws RedisUnavailableException if there is no connection yet: nothing was sent
     */
    RedisClusterAsyncCommands<String, String> commands() {
        return attempt.opened().commands();
    }

    /** The queues for commands; the same object for all that send over the same connection. */
    CommandQueues queues() {
        return queues;
    }

    /** Whether the keys of a call must lie in one hash slot. */
    boolean isCluster() {
        return isCluster;
    }

    /** The connection for signals as soon as it is there; empty if there is none. */
    Mono<StatefulRedisPubSubConnection<String, String>> pubSub() {
        return hasPubSub ? attempt.asMono().mapNotNull(Opened::pubSub) : Mono.empty();
    }

    /** Whether {@link #pubSub} will bring a connection. */
    boolean hasPubSub() {
        return hasPubSub;
    }

    /**
     * A limiter was opened: connects if need be, and tests the server once for each prefix. Delays nobody.
     */
    void opened(String prefix) {
        attempt.begin();
        if (selfTest && testedPrefixes.add(prefix)) {
            attempt.asMono().subscribe(opened -> new ServerCheck(opened, prefix).runAside());
        }
    }

    /** One answer, never an error. */
    Mono<SelfTest> selfTest(String prefix) {
        return Mono.defer(() -> {
            Opened there = attempt.known();
            return there == null
                    ? Mono.just(new SelfTest(List.of(new Finding(Severity.ERROR, attempt.reason()))))
                    : new ServerCheck(there, prefix).run();
        });
    }

    RedisConnections withoutSelfTest() {
        return new RedisConnections(attempt, queues, isCluster, hasPubSub, false);
    }

    /** @throws IllegalStateException if the connections are made later: they include one for signals */
    RedisConnections withSignals(StatefulRedisPubSubConnection<String, String> pubSub) {
        @Nullable Opened there = attempt.isLate() ? null : attempt.known();
        if (there == null) {
            throw new IllegalStateException("a store that connects aside has signals already");
        }
        attempt.alsoCheck(pubSub);
        ConnectionAttempt withPubSub = ConnectionAttempt.done(new Opened(there.connection(), pubSub, there.closing()));
        return new RedisConnections(withPubSub, queues, isCluster, true, selfTest);
    }

    Mono<Void> close() {
        return attempt.close();
    }
}
