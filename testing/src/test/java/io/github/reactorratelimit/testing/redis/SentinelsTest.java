package io.github.reactorratelimit.testing.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.reactorratelimit.testing.Await;
import io.lettuce.core.api.StatefulRedisConnection;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(RedisExtension.class)
class SentinelsTest {

    @Test
    void clientFindsTheMasterThroughTheSentinels(Sentinels sentinels) {
        try (StatefulRedisConnection<String, String> connection = sentinels.connect()) {
            connection.sync().set("sentinels-test", "found");
        }
        assertThat(sentinels.master().<String>ask(master -> master.get("sentinels-test")))
                .isEqualTo("found");
        assertThat(sentinels.sentinels()).hasSize(3);
        assertThat(sentinels.dataServers()).hasSize(2);
    }

    @Test
    void replicaRefusesWrites(Sentinels sentinels) {
        RedisServer replica = sentinels.replicas().get(0);
        assertThat(replica.<String>ask(commands -> {
                    try {
                        return commands.set("sentinels-test", "wrong");
                    } catch (RuntimeException e) {
                        return e.getMessage();
                    }
                }))
                .startsWith("READONLY");
    }

    @Test
    void replicaTakesOverFromAKilledMaster() {
        assumeTrue(Boolean.getBoolean("ratelimit.tests.full"), "a failover takes seconds: run with -Pfull");
        try (Sentinels sentinels = Sentinels.start(1);
                StatefulRedisConnection<String, String> connection = sentinels.connect()) {
            for (int failover = 1; failover <= 2; failover++) {
                RedisServer old = sentinels.master();
                String value = "before failover " + failover;
                connection.sync().set("key", value);
                connection.sync().waitForReplication(1, 1_000);

                old.kill();
                RedisServer promoted = sentinels.awaitFailoverFrom(old);

                assertThat(promoted).isNotEqualTo(old);
                Await.until(
                        "writes go to the new master", () -> connection.sync().append("key", "!") > 0);
                assertThat(promoted.<String>ask(master -> master.get("key"))).startsWith(value + "!");
                sentinels.awaitHealthy();
                assertThat(sentinels.replicas()).containsExactly(old);
            }
        }
    }
}
