package io.github.reactorratelimit.testing.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.reactorratelimit.testing.Await;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import java.util.HashSet;
import java.util.Set;
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
}
