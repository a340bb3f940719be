package io.github.reactorratelimit.embedded;

import java.util.ArrayList;
import java.util.List;

/** A Redis Cluster of three masters without replicas, each a process like those of {@link RedisServer}. Starting and ending it block. */
public final class RedisCluster implements AutoCloseable {

    private static final int MASTERS = 3;
    private static final int SLOTS = 16_384;

    private final List<RedisProcess> nodes = new ArrayList<>();

    private RedisCluster() {}

    /**
     * A cluster that serves every slot, about two seconds later: no node writes sooner after its start.
     *
     * @throws NoRedisException if there is no server that could be started
     */
    public static RedisCluster start() {
        RedisCluster cluster = new RedisCluster();
        try {
            for (int i = 0; i < MASTERS; i++) {
                cluster.nodes.add(RedisProcess.prepare("--cluster-enabled", "yes"));
            }
            cluster.introduce();
            List<ServerLog> logs =
                    cluster.nodes.stream().map(RedisProcess::launch).toList();
            logs.forEach(ServerLog::awaitWholeCluster);
            return cluster;
        } catch (RuntimeException failed) {
            cluster.close();
            throw failed;
        }
    }

    /** The addresses of all nodes. */
    public List<String> uris() {
        return nodes.stream().map(RedisProcess::uri).toList();
    }

    @Override
    public void close() {
        nodes.forEach(RedisProcess::close);
    }

    /** Each node finds all three in the file where it would keep them itself: so they need not meet first. */
    private void introduce() {
        for (int i = 0; i < MASTERS; i++) {
            List<String> lines = new ArrayList<>();
            for (int other = 0; other < MASTERS; other++) {
                lines.add(line(other, other == i));
            }
            lines.add("vars currentEpoch " + MASTERS + " lastVoteEpoch 0");
            nodes.get(i).write("nodes.conf", lines);
        }
    }

    private String line(int node, boolean isMyself) {
        String id = Integer.toString(node + 1).repeat(40);
        int port = nodes.get(node).port();
        int firstSlot = node * SLOTS / MASTERS;
        int lastSlot = (node + 1) * SLOTS / MASTERS - 1;
        return "%s 127.0.0.1:%d@%d %smaster - 0 0 %d connected %d-%d"
                .formatted(id, port, port + Ports.BUS_OFFSET, isMyself ? "myself," : "", node + 1, firstSlot, lastSlot);
    }
}
