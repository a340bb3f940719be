package io.github.reactorratelimit.testing.redis;

import io.github.reactorratelimit.testing.Await;
import io.lettuce.core.Range;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.models.partitions.ClusterPartitionParser;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode.NodeFlag;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Three masters, a replica for each or none, that take a node for dead after 1.5 s of silence. A killed master must not come back
 * before the failover: it is empty, and its replica would copy that.
 */
public final class Cluster implements Topology {

    private static final int MASTERS = 3;

    /** Nodes ping each other twice in that time, so that they soon know all that they must. */
    private static final Duration TIMEOUT_WHILE_FORMING = Duration.ofMillis(1_500);

    private static final Set<NodeFlag> DOUBTS =
            Set.of(NodeFlag.NOFLAGS, NodeFlag.NOADDR, NodeFlag.HANDSHAKE, NodeFlag.EVENTUAL_FAIL, NodeFlag.FAIL);

    private final List<RedisServer> servers = new ArrayList<>();
    private final RedisClusterClient client;

    private Cluster(int replicasEach, Duration nodeTimeout) {
        for (int i = 0; i < MASTERS * (1 + replicasEach); i++) {
            servers.add(RedisServer.start(
                    "cluster-enabled yes",
                    "cluster-node-timeout " + nodeTimeout.toMillis(),
                    "cluster-replica-validity-factor 0"));
        }
        client = RedisClusterClient.create(
                Clients.RESOURCES, uris().stream().map(Clients::patient).toList());
        client.setOptions(ClusterClientOptions.builder()
                .topologyRefreshOptions(ClusterTopologyRefreshOptions.builder()
                        .adaptiveRefreshTriggersTimeout(Duration.ofMillis(100))
                        .enablePeriodicRefresh(Duration.ofSeconds(1))
                        .build())
                .build());
    }

    /** A cluster that serves every slot, with every replica in sync; quick to replace a master that is silent. */
    public static Cluster start() {
        return start(1, Duration.ofMillis(1_500));
    }

    /** One that does not take a busy machine for a dead master. */
    public static Cluster patient() {
        return start(1, Duration.ofSeconds(30));
    }

    /** Three masters only, for what needs no failover. */
    public static Cluster withoutReplicas() {
        return start(0, Duration.ofSeconds(30));
    }

    private static Cluster start(int replicasEach, Duration nodeTimeout) {
        Cluster cluster = new Cluster(replicasEach, nodeTimeout);
        try {
            cluster.configure(TIMEOUT_WHILE_FORMING, false);
            cluster.form();
            cluster.awaitHealthy();
            cluster.configure(nodeTimeout, true);
            // On a busy machine a node may have doubted another one just before.
            cluster.awaitHealthy();
            return cluster;
        } catch (RuntimeException | Error e) {
            cluster.close();
            throw e;
        }
    }

    /** The addresses of all nodes. */
    public List<RedisURI> uris() {
        return servers.stream().map(RedisServer::uri).toList();
    }

    /**
     * A new connection that follows failovers and reads from masters only. Its commands give up soon: a node may be down. It is
     * connected to every master at once: Lettuce's {@code close()} may wait for ever when a master is being connected to meanwhile.
     */
    public StatefulRedisClusterConnection<String, String> connect() {
        StatefulRedisClusterConnection<String, String> connection = client.connect();
        connection.setTimeout(Clients.PATIENCE);
        connection.getPartitions().stream()
                .filter(node -> !node.hasNoSlots())
                .map(RedisClusterNode::getUri)
                .forEach(uri -> connection.getConnection(uri.getHost(), uri.getPort()));
        return connection;
    }

    /** All nodes, dead ones included. */
    public List<RedisServer> servers() {
        return List.copyOf(servers);
    }

    /** The nodes that own slots. */
    public List<RedisServer> masters() {
        return nodes().stream()
                .filter(node -> !node.hasNoSlots())
                .map(this::server)
                .toList();
    }

    /** The node that owns the key's slot. */
    public RedisServer masterOf(String key) {
        int slot = SlotHash.getSlot(key);
        return nodes().stream()
                .filter(node -> node.hasSlot(slot))
                .findFirst()
                .map(this::server)
                .orElseThrow(() -> new IllegalStateException("no node owns slot " + slot));
    }

    /** Waits until the others have given the slots of {@code old} to its replica and serve again; returns the replica. */
    public RedisServer awaitFailoverFrom(RedisServer old, String keyOfOld) {
        Await.until(
                "another master than " + old + " for " + keyOfOld,
                () -> masterOf(keyOfOld) != old
                        && servers.stream().filter(server -> server != old).allMatch(Cluster::servesAllSlots));
        return masterOf(keyOfOld);
    }

    /** Starts what is down and waits until every node sees a whole cluster and every replica is in sync. */
    public void awaitHealthy() {
        servers.stream().filter(server -> !server.isAlive()).forEach(RedisServer::restart);
        Await.until("a whole cluster on every node", () -> servers.stream().allMatch(this::seesWholeCluster));
        Await.until("replicas in sync", () -> {
            List<RedisServer> masters = masters();
            return servers.stream()
                    .allMatch(server -> masters.contains(server)
                            ? Replication.isMaster(server)
                            : Replication.isReplicaInSync(server));
        });
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
        servers.forEach(RedisServer::close);
    }

    /** Until the next restart, which brings back what the configuration file says. */
    private void configure(Duration nodeTimeout, boolean failover) {
        servers.forEach(server -> server.askPatiently(node -> node.configSet(Map.of(
                "cluster-node-timeout",
                Long.toString(nodeTimeout.toMillis()),
                "cluster-replica-no-failover",
                failover ? "no" : "yes"))));
    }

    @SuppressWarnings("unchecked") // an array of one Range<Integer>
    private void form() {
        for (int i = 0; i < servers.size(); i++) {
            int epoch = i + 1;
            servers.get(i).askPatiently(node -> node.clusterSetConfigEpoch(epoch));
        }
        for (int i = 0; i < MASTERS; i++) {
            int first = i * SlotHash.SLOT_COUNT / MASTERS;
            int last = (i + 1) * SlotHash.SLOT_COUNT / MASTERS - 1;
            servers.get(i).askPatiently(node -> node.clusterAddSlotsRange(Range.create(first, last)));
        }
        meet();
        for (int i = MASTERS; i < servers.size(); i++) {
            String masterId = servers.get(i - MASTERS).askPatiently(RedisCommands::clusterMyId);
            servers.get(i).askPatiently(node -> node.clusterReplicate(masterId));
        }
    }

    /** Introduces every node to every other: gossip alone would take seconds. */
    private void meet() {
        for (RedisServer server : servers) {
            server.askPatiently(node -> {
                servers.stream()
                        .filter(other -> other.port() < server.port())
                        .forEach(other -> node.clusterMeet("127.0.0.1", other.port()));
                return "OK";
            });
        }
        Await.until("all nodes acquainted", () -> servers.stream().allMatch(this::trustsAllNodes));
    }

    private boolean seesWholeCluster(RedisServer server) {
        long replicas = nodesAsSeenBy(server).stream()
                .filter(node -> node.is(NodeFlag.REPLICA))
                .count();
        return servesAllSlots(server) && trustsAllNodes(server) && replicas == servers.size() - MASTERS;
    }

    private boolean trustsAllNodes(RedisServer server) {
        List<RedisClusterNode> nodes = nodesAsSeenBy(server);
        return nodes.size() == servers.size()
                && nodes.stream().allMatch(node -> node.isConnected() && Collections.disjoint(node.getFlags(), DOUBTS));
    }

    private static boolean servesAllSlots(RedisServer server) {
        List<String> info = server.ask(RedisCommands::clusterInfo).lines().toList();
        return info.contains("cluster_state:ok") && info.contains("cluster_slots_ok:" + SlotHash.SLOT_COUNT);
    }

    private static List<RedisClusterNode> nodesAsSeenBy(RedisServer server) {
        return parse(server.ask(RedisCommands::clusterNodes));
    }

    private static List<RedisClusterNode> parse(String nodes) {
        return ClusterPartitionParser.parse(nodes).getPartitions();
    }

    private List<RedisClusterNode> nodes() {
        RedisServer alive =
                servers.stream().filter(RedisServer::isAlive).findFirst().orElseThrow();
        return parse(alive.askPatiently(RedisCommands::clusterNodes));
    }

    private RedisServer server(RedisClusterNode node) {
        return servers.stream()
                .filter(server -> server.port() == node.getUri().getPort())
                .findFirst()
                .orElseThrow();
    }
}
