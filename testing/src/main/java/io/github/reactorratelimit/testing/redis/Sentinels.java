package io.github.reactorratelimit.testing.redis;

import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.FreePorts;
import io.lettuce.core.ReadFrom;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.masterreplica.MasterReplica;
import io.lettuce.core.masterreplica.StatefulRedisMasterReplicaConnection;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.sentinel.api.StatefulRedisSentinelConnection;
import io.lettuce.core.sentinel.api.sync.RedisSentinelCommands;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * A master, its replicas and three Sentinels that take a server for dead after one second of silence. A killed master must
 * not come back before the failover: it is empty, and the replicas would copy that.
 */
public final class Sentinels implements Topology {

    /** The name the Sentinels know the replica set by. */
    public static final String NAME = "limits";

    private static final int SENTINELS = 3;
    private static final int QUORUM = 2;

    /** Twice that must pass between two failovers, or the second one waits. */
    private static final int FAILOVER_TIMEOUT_MILLIS = 2_000;

    private final List<RedisServer> servers = new ArrayList<>();
    private final List<RedisServer> sentinels = new ArrayList<>();
    private final RedisClient client = RedisClient.create(Clients.RESOURCES);

    private final Duration downAfter;

    private Sentinels(Duration downAfter) {
        this.downAfter = downAfter;
    }

    /** A replica set that is in sync, and Sentinels that know it and each other; quick to replace a master that is silent. */
    public static Sentinels start(int replicas) {
        return start(replicas, Duration.ofSeconds(1));
    }

    /** One that does not take a busy machine for a dead master. */
    public static Sentinels patient(int replicas) {
        return start(replicas, Duration.ofSeconds(30));
    }

    private static Sentinels start(int replicas, Duration downAfter) {
        Sentinels topology = new Sentinels(downAfter);
        try {
            topology.startServers(replicas);
            topology.startSentinels();
            topology.awaitHealthy();
            return topology;
        } catch (RuntimeException | Error e) {
            topology.close();
            throw e;
        }
    }

    /** The address of the replica set: its Sentinels and its name. */
    public RedisURI uri() {
        RedisURI.Builder uri = RedisURI.builder().withSentinelMasterId(NAME);
        sentinels.forEach(sentinel -> uri.withSentinel("127.0.0.1", sentinel.port()));
        return uri.build();
    }

    /** A new connection that follows the master and reads from it only; Lettuce's default options otherwise. */
    public StatefulRedisMasterReplicaConnection<String, String> connect() {
        StatefulRedisMasterReplicaConnection<String, String> connection =
                MasterReplica.connect(client, StringCodec.UTF8, uri());
        connection.setReadFrom(ReadFrom.UPSTREAM);
        return connection;
    }

    /** The master by the word of the first Sentinel. */
    public RedisServer master() {
        return masterAsSeenBy(sentinels.get(0));
    }

    /** The servers that are not master, dead ones included. */
    public List<RedisServer> replicas() {
        RedisServer master = master();
        return servers.stream().filter(server -> server != master).toList();
    }

    /** The three Sentinel processes. */
    public List<RedisServer> sentinels() {
        return List.copyOf(sentinels);
    }

    /** Waits until all Sentinels agree on another, writable master, and returns it. */
    public RedisServer awaitFailoverFrom(RedisServer old) {
        Await.until("another master than " + old, () -> {
            RedisServer master = master();
            return master != old
                    && sentinels.stream().allMatch(sentinel -> masterAsSeenBy(sentinel) == master)
                    && Replication.isMaster(master);
        });
        return master();
    }

    /** Starts what is down, as a replica, and waits until every replica is in sync and every Sentinel knows it. */
    public void awaitHealthy() {
        servers.stream().filter(server -> !server.isAlive()).forEach(this::bringBack);
        Await.until("replicas of " + master() + " in sync", () -> {
            RedisServer master = master();
            return Replication.isMaster(master)
                    && replicas().stream().allMatch(replica -> Replication.inSyncWith(master, replica));
        });
        Await.until(
                "replicas known to all Sentinels",
                () -> sentinels.stream().allMatch(sentinel -> knowsReplicas(sentinel) && seesQuorum(sentinel)));
    }

    @Override
    public List<RedisURI> dataServers() {
        return servers.stream()
                .filter(RedisServer::isAlive)
                .map(RedisServer::uri)
                .toList();
    }

    @Override
    public void close() {
        client.shutdown();
        sentinels.forEach(RedisServer::close);
        servers.forEach(RedisServer::close);
    }

    private void startServers(int replicas) {
        RedisServer master = RedisServer.start();
        servers.add(master);
        for (int i = 0; i < replicas; i++) {
            servers.add(RedisServer.start("replicaof 127.0.0.1 " + master.port()));
        }
        Await.until(
                "first sync",
                () -> servers.stream().skip(1).allMatch(replica -> Replication.inSyncWith(master, replica)));
    }

    /** Tells each Sentinel of the others as its own configuration file would after a restart: saves their first 2 s. */
    private void startSentinels() {
        List<Integer> ports = Stream.generate(FreePorts::next).limit(SENTINELS).toList();
        for (int port : ports) {
            List<String> directives = new ArrayList<>(List.of(
                    "sentinel myid " + sentinelId(port),
                    "sentinel monitor " + NAME + " 127.0.0.1 " + servers.get(0).port() + " " + QUORUM,
                    "sentinel down-after-milliseconds " + NAME + " " + downAfter.toMillis(),
                    "sentinel failover-timeout " + NAME + " " + FAILOVER_TIMEOUT_MILLIS));
            servers.stream()
                    .skip(1)
                    .map(replica -> "sentinel known-replica " + NAME + " 127.0.0.1 " + replica.port())
                    .forEach(directives::add);
            ports.stream()
                    .filter(other -> other != port)
                    .map(other -> "sentinel known-sentinel " + NAME + " 127.0.0.1 " + other + " " + sentinelId(other))
                    .forEach(directives::add);
            RedisServer sentinel = RedisServer.startSentinel(port, directives);
            sentinels.add(sentinel);
            lookOftener(sentinel);
        }
    }

    /** Looks at the servers every second, not every ten: a replica that is back is known at once. Since Redis 7. */
    private void lookOftener(RedisServer sentinel) {
        CommandArgs<String, String> period = new CommandArgs<>(StringCodec.UTF8)
                .add("DEBUG")
                .add("INFO-PERIOD")
                .add(1_000);
        try {
            askSentinel(sentinel, s -> s.dispatch(CommandType.SENTINEL, new StatusOutput<>(StringCodec.UTF8), period));
        } catch (RedisCommandExecutionException olderRedis) {
            // Only slower.
        }
    }

    /** Sentinel would make it a replica too, ten seconds later. */
    private void bringBack(RedisServer server) {
        server.restart();
        RedisServer master = master();
        if (server != master) {
            server.ask(commands -> commands.replicaof("127.0.0.1", master.port()));
        }
    }

    private static String sentinelId(int port) {
        return String.format("%040x", port);
    }

    private RedisServer masterAsSeenBy(RedisServer sentinel) {
        int port = askSentinel(sentinel, s -> ((InetSocketAddress) s.getMasterAddrByName(NAME)).getPort());
        return servers.stream()
                .filter(server -> server.port() == port)
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("unknown master at port " + port));
    }

    private boolean knowsReplicas(RedisServer sentinel) {
        List<Map<String, String>> known = askSentinel(sentinel, s -> s.replicas(NAME));
        return known.size() == servers.size() - 1
                && known.stream()
                        .allMatch(replica ->
                                "slave".equals(replica.get("flags")) && "ok".equals(replica.get("master-link-status")));
    }

    private boolean seesQuorum(RedisServer sentinel) {
        Map<String, String> master = askSentinel(sentinel, s -> s.master(NAME));
        return "master".equals(master.get("flags"))
                && Integer.toString(SENTINELS - 1).equals(master.get("num-other-sentinels"));
    }

    private <T> T askSentinel(RedisServer sentinel, Function<RedisSentinelCommands<String, String>, T> question) {
        try (StatefulRedisSentinelConnection<String, String> connection = client.connectSentinel(sentinel.uri())) {
            return question.apply(connection.sync());
        }
    }
}
