package io.github.reactorratelimit.redis;

import io.lettuce.core.cluster.SlotHash;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/** One queue on a standalone server; on a Cluster one for each node that holds hash slots. */
final class CommandQueues {

    private final CommandQueue.Connection connection;
    private final @Nullable IntFunction<String> nodes;
    private final Runnable check;
    private final Map<String, CommandQueue> byNode = new ConcurrentHashMap<>();

    /** That of a standalone server. */
    private final CommandQueue only;

    /**
     * @param connection where calls are sent
     * @param nodes the node that holds a hash slot; null on a standalone server
     * @param check looks for dead connections
     */
    CommandQueues(CommandQueue.Connection connection, @Nullable IntFunction<String> nodes, Runnable check) {
        this.connection = connection;
        this.nodes = nodes;
        this.check = check;
        this.only = queue("Redis");
    }

    private CommandQueue queue(String node) {
        return new CommandQueue(node, connection, isCluster());
    }

    /**
     * The queue of the node that holds a key. A slot that moves to another node while commands wait for its
     * keys: those stay where they are, later ones do not wait for them.
     */
    CommandQueue of(String name) {
        if (nodes == null) {
            return only;
        }
        String node = nodes.apply(SlotHash.getSlot(name));
        CommandQueue known = byNode.get(node);
        return known == null ? byNode.computeIfAbsent(node, this::queue) : known;
    }

    /** Whether the keys of a call must lie in one hash slot. */
    boolean isCluster() {
        return nodes != null;
    }

    /** A command missed its deadline: replaces connections that are dead. Never blocks. */
    void check() {
        check.run();
    }
}
