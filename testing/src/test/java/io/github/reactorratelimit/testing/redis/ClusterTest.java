package io.github.reactorratelimit.testing.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.reactorratelimit.testing.Await;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import java.io.IOException;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(RedisExtension.class)
class ClusterTest {

    @Test
    void everyMasterTakesItsKeys(Cluster cluster) {
        Set<RedisServer> written = new HashSet<>();
        try (StatefulRedisClusterConnection<String, String> connection = cluster.connect()) {
            IntStream.range(0, 12).mapToObj(i -> "cluster-test-" + i).forEach(key -> {
                connection.sync().set(key, "here");
                RedisServer master = cluster.masterOf(key);
                assertThat(master.<String>ask(node -> node.get(key))).isEqualTo("here");
                written.add(master);
            });
        }
        assertThat(written)
                .containsExactlyInAnyOrderElementsOf(cluster.masters())
                .hasSize(3);
        assertThat(cluster.dataServers()).hasSize(6);
    }

    @Test
    void mastersAloneServeEverySlot() {
        try (Cluster alone = Cluster.withoutReplicas();
                StatefulRedisClusterConnection<String, String> connection = alone.connect()) {
            connection.sync().set("key", "here");
            assertThat(alone.masters()).hasSize(3).contains(alone.masterOf("key"));
            assertThat(alone.dataServers()).hasSize(3);
        }
    }

    @Test
    void replicaTakesOverFromAKilledMaster() {
        assumeTrue(Boolean.getBoolean("ratelimit.tests.full"), "a failover takes seconds: run with -Pfull");
        try (Cluster cluster = Cluster.start();
                StatefulRedisClusterConnection<String, String> connection = cluster.connect()) {
            for (int failover = 1; failover <= 2; failover++) {
                RedisServer old = cluster.masterOf("key");

                old.kill();
                RedisServer promoted = cluster.awaitFailoverFrom(old, "key");

                assertThat(promoted).isNotEqualTo(old);
                Await.until(
                        "writes go to the new master", () -> connection.sync().append("key", "!") > 0);
                assertThat(promoted.<String>ask(node -> node.get("key"))).endsWith("!");
                cluster.awaitHealthy();
                assertThat(cluster.masters()).hasSize(3).doesNotContain(old);
            }
        }
    }

    /** The harness waits for a node that is up, however busy the machine is. */
    @Test
    void startsThoughItsNodesStallForSeconds() throws Exception {
        assumeTrue(Boolean.getBoolean("ratelimit.tests.full"), "a stall takes seconds: run with -Pfull");
        Set<Long> others = redisProcesses();
        Thread stall = new Thread(() -> {
            Set<Long> ours = Set.of();
            while (ours.size() < 3) {
                ours = redisProcesses();
                ours.removeAll(others);
            }
            ours.forEach(pid -> signal("STOP", pid));
            LockSupport.parkNanos(Duration.ofSeconds(3).toNanos());
            ours.forEach(pid -> signal("CONT", pid));
        });
        stall.start();
        try (Cluster cluster = Cluster.withoutReplicas()) {
            assertThat(cluster.masters()).hasSize(3);
        } finally {
            stall.join();
        }
    }

    private static Set<Long> redisProcesses() {
        return ProcessHandle.current()
                .descendants()
                .filter(process -> process.info().command().orElse("").endsWith("redis-server"))
                .map(ProcessHandle::pid)
                .collect(Collectors.toCollection(HashSet::new));
    }

    private static void signal(String name, long pid) {
        try {
            new ProcessBuilder("kill", "-" + name, Long.toString(pid)).start().waitFor();
        } catch (IOException | InterruptedException failed) {
            throw new IllegalStateException(failed);
        }
    }
}
