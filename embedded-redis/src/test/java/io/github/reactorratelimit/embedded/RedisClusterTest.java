package io.github.reactorratelimit.embedded;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class RedisClusterTest {

    @Test
    void everyKeyIsServedByOneOfThreeMastersAndTheOthersNameIt() {
        try (RedisCluster cluster = RedisCluster.start()) {
            assertThat(cluster.uris()).hasSize(3);
            for (String key : List.of("foo", "bar", "hello", "orders")) {
                List<String> answers = cluster.uris().stream()
                        .map(uri -> Telnet.ask(uri, "SET " + key + " value", 1))
                        .toList();

                assertThat(answers).filteredOn("+OK"::equals).hasSize(1);
                String owner = cluster.uris().get(answers.indexOf("+OK")).replace("redis://", "");
                assertThat(answers)
                        .filteredOn(answer -> answer.startsWith("-MOVED") && answer.endsWith(" " + owner))
                        .hasSize(2);
            }
        }
    }
}
