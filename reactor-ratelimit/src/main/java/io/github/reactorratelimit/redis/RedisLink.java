package io.github.reactorratelimit.redis;

import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.async.RedisAdvancedClusterAsyncCommands;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** The connections of a store, shared by all its limiters and by all stores made from it. */
final class RedisLink implements Carrier {

    private final StatefulConnection<String, String> connection;
    private final RedisClusterAsyncCommands<String, String> commands;
    private final @Nullable SignalHub hub;
    private final Mono<Void> closing;
    private final boolean selfTest;
    private final ConnectionCheck check;
    private final Set<String> testedPrefixes = ConcurrentHashMap.newKeySet();

    private RedisLink(
            StatefulConnection<String, String> connection,
            RedisClusterAsyncCommands<String, String> commands,
            @Nullable SignalHub hub,
            Mono<Void> closing,
            boolean selfTest) {
        this.connection = connection;
        this.commands = commands;
        this.hub = hub;
        this.closing = closing;
        this.selfTest = selfTest;
        this.check = new ConnectionCheck(connection, hub == null ? null : hub.connection());
    }

    static RedisLink of(StatefulRedisConnection<String, String> connection) {
        return new RedisLink(connection, connection.async(), null, Mono.empty(), true);
    }

    static RedisLink of(StatefulRedisClusterConnection<String, String> connection) {
        return new RedisLink(connection, connection.async(), null, Mono.empty(), true);
    }

    @Override
    public RedisLink withSignals(StatefulRedisPubSubConnection<String, String> pubSub) {
        return new RedisLink(connection, commands, new SignalHub(commands, pubSub), closing, selfTest);
    }

    /** For connections that are ours. */
    RedisLink closedBy(Mono<Void> shutdown) {
        return new RedisLink(connection, commands, hub, shutdown, selfTest);
    }

    @Override
    public RedisLink withoutSelfTest() {
        return new RedisLink(connection, commands, hub, closing, false);
    }

    @Override
    public void opened(String prefix) {
        if (selfTest && testedPrefixes.add(prefix)) {
            new SelfTester(this, prefix).runAside();
        }
    }

    @Override
    public Mono<SelfTest> selfTest(String prefix) {
        return new SelfTester(this, prefix).run();
    }

    @Override
    public void check() {
        check.run();
    }

    @Override
    public Mono<Void> close() {
        return closing;
    }

    StatefulConnection<String, String> connection() {
        return connection;
    }

    @Override
    public RedisClusterAsyncCommands<String, String> commands() {
        return commands;
    }

    @Override
    public RedisCodec<String, String> codec() {
        return connection.getCodec();
    }

    @Override
    public boolean isOnCluster() {
        return commands instanceof RedisAdvancedClusterAsyncCommands;
    }

    @Override
    public Object wire() {
        return commands;
    }

    @Override
    public Signals signals(RedisKeys keys) {
        return hub == null ? Signals.NONE : hub.open(keys.signalChannel());
    }

    Optional<SignalHub> hub() {
        return Optional.ofNullable(hub);
    }
}
