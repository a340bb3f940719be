package io.github.reactorratelimit.redis;

import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import java.lang.ref.WeakReference;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** One queue on a standalone server; on a Cluster one for each node that holds hash slots. */
final class NodeQueues implements CommandQueues {

    private static final String UNKNOWN_NODE = "unknown node";

    /** Those of connections that exist, the oldest first. */
    private static final Queue<WeakReference<NodeQueues>> IN_USE = new ConcurrentLinkedQueue<>();

    private final Supplier<RedisConnector.Opened> connections;
    private final boolean isCluster;
    private final Runnable check;
    private final @Nullable CommandQueue only;
    private final Map<String, CommandQueue> byNode = new ConcurrentHashMap<>();

    /**
     * @param connections throws {@link RedisUnavailableException} if there is none yet
     * @param check looks for dead connections
     */
    NodeQueues(Supplier<RedisConnector.Opened> connections, boolean isCluster, Runnable check) {
        this.connections = connections;
        this.isCluster = isCluster;
        this.check = check;
        this.only = isCluster ? null : queue("Redis");
    }

    /**
     * The queues of a connection that another store uses already, or else these: so the limiters of all
     * stores of one connection share calls, and at most one call per key is in flight.
     */
    static NodeQueues shared(StatefulConnection<String, String> connection, NodeQueues created) {
        IN_USE.add(new WeakReference<>(created));
        IN_USE.removeIf(one -> one.get() == null);
        for (WeakReference<NodeQueues> one : IN_USE) {
            NodeQueues queues = one.get();
            if (queues != null && queues.connections.get().connection() == connection) {
                return queues;
            }
        }
        return created;
    }

    private CommandQueue queue(String node) {
        return new CommandQueue(
                node,
                (type, output, arguments) -> connections.get().commands().dispatch(type, output, arguments),
                isCluster);
    }

    /**
     * A slot that moves to another node while commands wait for its keys: those stay where they are, later
     * ones do not wait for them.
     */
    @Override
    public CommandQueue of(String name) {
        CommandQueue single = only;
        if (single != null) {
            return single;
        }
        String node = node(SlotHash.getSlot(name));
        CommandQueue known = byNode.get(node);
        return known == null ? byNode.computeIfAbsent(node, this::queue) : known;
    }

    private String node(int slot) {
        try {
            RedisClusterNode node =
                    connections.get().connection() instanceof StatefulRedisClusterConnection<?, ?> cluster
                            ? cluster.getPartitions().getPartitionBySlot(slot)
                            : null;
            return node == null
                    ? UNKNOWN_NODE
                    : node.getUri().getHost() + ":" + node.getUri().getPort();
        } catch (RedisUnavailableException notConnected) {
            return UNKNOWN_NODE;
        }
    }

    @Override
    public boolean isCluster() {
        return isCluster;
    }

    @Override
    public void check() {
        check.run();
    }
}
