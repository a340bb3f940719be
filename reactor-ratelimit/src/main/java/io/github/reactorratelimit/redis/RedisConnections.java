package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.redis.RedisConnector.Opened;
import io.github.reactorratelimit.redis.SelfTest.Finding;
import io.github.reactorratelimit.redis.SelfTest.Severity;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.util.Logger;
import reactor.util.Loggers;
import reactor.util.retry.Retry;

/**
 * The connections of a store, which are there or are made when its first limiter is opened. Shared by its
 * limiters and by all stores made from it. An attempt to connect that fails is repeated, at growing
 * distances; the log says why, once for each reason.
 *
 * <p>Closing and connecting may meet. Each first says so ({@code closed}, {@code known}) and then looks
 * whether the other has: so at least one of them sees both, and closes the connections. It is harmless if
 * both do.
 */
final class RedisConnections {

    private static final Logger LOG = Loggers.getLogger(RedisConnections.class);

    private static final Retry UNTIL_CONNECTED =
            Retry.backoff(Long.MAX_VALUE, Duration.ofMillis(100)).maxBackoff(Duration.ofSeconds(5));

    private static final String UNKNOWN_NODE = "unknown node";

    /**
     * The limiters of all stores of one connection share calls, so that at most one call per key is in
     * flight.
     */
    private static final Map<StatefulConnection<?, ?>, WeakReference<CommandQueues>> QUEUES =
            Collections.synchronizedMap(new WeakHashMap<>());

    private final Mono<Opened> connecting;
    private final boolean isLate;
    private final boolean hasPubSub;
    private final CommandQueues queues;
    private final Sinks.One<Opened> connected = Sinks.one();
    private final AtomicBoolean begun = new AtomicBoolean();
    private final Disposable.Swap trying = Disposables.swap();

    /** However many limiters come and go, each prefix is tested once. */
    private final Set<String> testedPrefixes = ConcurrentHashMap.newKeySet();

    private volatile @Nullable Opened known;
    private volatile @Nullable ConnectionCheck check;
    private volatile boolean closed;
    private volatile String reason = "not connected to Redis yet";

    private RedisConnections(Mono<Opened> connecting, boolean isCluster) {
        this.connecting = connecting;
        this.isLate = true;
        this.hasPubSub = true;
        this.queues = newQueues(isCluster);
    }

    private RedisConnections(Opened opened) {
        this.connecting = Mono.empty();
        this.isLate = false;
        this.hasPubSub = opened.pubSub() != null;
        known(opened);
        this.queues = sharedQueues(opened);
    }

    /** A user's connection, without signals. */
    static RedisConnections of(StatefulConnection<String, String> connection) {
        ConnectionOptions.requireVersion();
        ConnectionOptions.log(connection);
        return of(new Opened(connection, null, Mono.empty()));
    }

    static RedisConnections of(Opened opened) {
        return new RedisConnections(opened);
    }

    /**
     * Connections that are made when the first limiter is opened.
     *
     * @param connecting connects once more on each subscription
     */
    static RedisConnections later(Mono<Opened> connecting, boolean isCluster) {
        return new RedisConnections(connecting, isCluster);
    }

    private CommandQueues sharedQueues(Opened opened) {
        CommandQueues[] shared = {newQueues(opened.cluster() != null)};
        QUEUES.compute(opened.connection(), (same, before) -> {
            CommandQueues inUse = before == null ? null : before.get();
            if (inUse != null) {
                shared[0] = inUse;
            }
            return new WeakReference<>(shared[0]);
        });
        return shared[0];
    }

    private CommandQueues newQueues(boolean isCluster) {
        return new CommandQueues(
                (type, output, arguments) -> commands().dispatch(type, output, arguments),
                isCluster ? this::node : null,
                this::check);
    }

    private String node(int slot) {
        Opened there = known;
        StatefulRedisClusterConnection<String, String> cluster = there == null ? null : there.cluster();
        RedisClusterNode node = cluster == null ? null : cluster.getPartitions().getPartitionBySlot(slot);
        return node == null
                ? UNKNOWN_NODE
                : node.getUri().getHost() + ":" + node.getUri().getPort();
    }

    /** The queues for commands; the same object for all that send over the same connection. */
    CommandQueues queues() {
        return queues;
    }

    /** Whether the keys of a call must lie in one hash slot. */
    boolean isCluster() {
        return queues.isCluster();
    }

    /**
     * Sends commands that are none of the script's, as PUBLISH.
     *
     * @throws RedisUnavailableException if there is no connection yet: nothing was sent
     */
    RedisClusterAsyncCommands<String, String> commands() {
        Opened there = known;
        if (there == null) {
            throw new RedisUnavailableException(reason);
        }
        return there.commands();
    }

    /** The connection for signals as soon as it is there; empty if there is none. */
    Mono<StatefulRedisPubSubConnection<String, String>> pubSub() {
        return hasPubSub ? connected.asMono().mapNotNull(Opened::pubSub) : Mono.empty();
    }

    /** Whether {@link #pubSub} will bring a connection. */
    boolean hasPubSub() {
        return hasPubSub;
    }

    /** A limiter was opened: connects if need be, once. Delays no request. */
    void open() {
        if (isLate && begun.compareAndSet(false, true)) {
            trying.update(connecting
                    .doOnNext(this::connected)
                    .then()
                    .doOnError(this::failed)
                    .retryWhen(UNTIL_CONNECTED)
                    .subscribe());
        }
    }

    private void failed(Throwable error) {
        String now = String.valueOf(error.getMessage());
        if (!now.equals(reason)) {
            reason = now;
            LOG.warn("Limits are decided without Redis until it can be connected to: {}", now);
        }
    }

    private void connected(Opened made) {
        known(made);
        if (closed) {
            made.closing().subscribe();
        } else {
            LOG.info("Connected to Redis");
        }
    }

    private void known(Opened opened) {
        check = new ConnectionCheck(opened);
        known = opened;
        if (!closed) {
            connected.tryEmitValue(opened);
        }
    }

    /** Replaces connections that are dead. Delays no request. */
    private void check() {
        ConnectionCheck current = check;
        if (current != null) {
            current.run();
        }
    }

    /** Tests the server, once for each prefix. Delays no request. */
    void testAside(String prefix) {
        if (testedPrefixes.add(prefix)) {
            connected.asMono().subscribe(opened -> new ServerCheck(opened, prefix).runAside());
        }
    }

    /** One answer, never an error. */
    Mono<SelfTest> selfTest(String prefix) {
        return Mono.defer(() -> {
            Opened there = known;
            return there == null
                    ? Mono.just(new SelfTest(List.of(new Finding(Severity.ERROR, reason))))
                    : new ServerCheck(there, prefix).run();
        });
    }

    /** @throws IllegalStateException if the connections are made later: they include one for signals */
    RedisConnections withSignals(StatefulRedisPubSubConnection<String, String> pubSub) {
        Opened there = known;
        if (isLate || there == null) {
            throw new IllegalStateException("a store that connects in the background has signals already");
        }
        Opened withSignals = new Opened(there.connection(), pubSub, there.closing());
        // If the first one is dead, so is this one.
        check = new ConnectionCheck(withSignals);
        return of(withSignals);
    }

    Mono<Void> close() {
        return Mono.defer(() -> {
            closed = true;
            trying.dispose();
            Opened there = known;
            return there == null ? Mono.empty() : there.closing();
        });
    }
}
