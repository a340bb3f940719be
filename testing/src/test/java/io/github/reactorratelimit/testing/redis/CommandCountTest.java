package io.github.reactorratelimit.testing.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(RedisExtension.class)
class CommandCountTest {

    private static final String SCRIPT = "redis.call('incr', KEYS[1]) return redis.call('incr', KEYS[1])";

    @Test
    void scriptCallsAreCountedOnceWhateverTheyCall() {
        try (Standalone redis = Standalone.start();
                StatefulRedisConnection<String, String> connection = redis.connect()) {
            RedisCommands<String, String> commands = connection.sync();
            CommandCount count = CommandCount.on(redis);
            commands.<Long>eval(SCRIPT, ScriptOutputType.INTEGER, "key");
            String sha = commands.digest(SCRIPT);
            commands.<Long>evalsha(sha, ScriptOutputType.INTEGER, "key");

            assertThat(count.scripts()).isEqualTo(2);
            assertThat(count.calls("evalsha")).isEqualTo(1);
            assertThat(count.calls("incr")).isEqualTo(4);
        }
    }

    @Test
    void refusedScriptCallIsCounted() {
        try (Standalone redis = Standalone.start();
                StatefulRedisConnection<String, String> connection = redis.connect()) {
            RedisCommands<String, String> commands = connection.sync();
            CommandCount count = CommandCount.on(redis);
            assertThatThrownBy(() -> commands.<Long>evalsha(commands.digest(SCRIPT), ScriptOutputType.INTEGER, "key"))
                    .isInstanceOf(RedisNoScriptException.class);
            assertThat(count.scripts()).isEqualTo(1);
        }
    }

    @Test
    void callsOfAllMastersAddUp(@Dedicated Cluster cluster) {
        try (StatefulRedisClusterConnection<String, String> connection = cluster.connect()) {
            connection.sync().<Long>eval(SCRIPT, ScriptOutputType.INTEGER, "command-count-test");
            CommandCount count = CommandCount.on(cluster);
            for (int i = 0; i < 12; i++) {
                connection.sync().<Long>eval(SCRIPT, ScriptOutputType.INTEGER, "command-count-test-" + i);
            }
            assertThat(count.scripts()).isEqualTo(12);
        }
    }

    @Test
    void serversThatOtherTestsUseAreRefused(Standalone shared) {
        assertThatThrownBy(() -> CommandCount.on(shared))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("@Dedicated");
    }

    @Test
    void dedicatedServerIsAnotherThanTheSharedOne(Standalone shared, @Dedicated Standalone dedicated) {
        assertThat(dedicated.uri()).isNotEqualTo(shared.uri());
    }
}
