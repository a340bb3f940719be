package io.github.reactorratelimit.testing.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lettuce.core.RedisCommandTimeoutException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class RedisServerTest {

    @Test
    void freshServerAnswersPingAndTime() {
        try (RedisServer server = RedisServer.start()) {
            assertThat(server.<String>ask(RedisCommands::ping)).isEqualTo("PONG");
            assertThat(server.<List<String>>ask(RedisCommands::time)).hasSize(2);
            assertThat(server.port()).isLessThan(55_000);
        }
    }

    @Test
    void directivesReachTheServer() {
        try (RedisServer server = RedisServer.start("maxmemory 3mb", "maxmemory-policy noeviction")) {
            assertThat(server.<Map<String, String>>ask(commands -> commands.configGet("maxmemory")))
                    .containsValue("3145728");
        }
    }

    @Test
    void killedServerComesBackEmptyOnItsPort() {
        try (RedisServer server = RedisServer.start()) {
            server.ask(commands -> commands.set("key", "value"));
            int port = server.port();
            long pid = server.pid();
            server.kill();
            assertThat(server.isAlive()).isFalse();
            assertThatThrownBy(() -> server.ask(RedisCommands::ping)).hasMessageContaining("Unable to connect");

            server.restart();

            assertThat(server.port()).isEqualTo(port);
            assertThat(server.pid()).isNotEqualTo(pid);
            assertThat(server.<Long>ask(RedisCommands::dbsize)).isZero();
        }
    }

    @Test
    void stoppedServerSaysGoodbyeInItsLog() {
        try (RedisServer server = RedisServer.start()) {
            server.stop();
            assertThat(server.log()).content().contains("bye bye");
        }
    }

    @Test
    void pausedServerAnswersOnlyWhenResumed() throws Exception {
        try (Standalone redis = Standalone.start();
                StatefulRedisConnection<String, String> connection = redis.connect()) {
            connection.setTimeout(Duration.ofMillis(100));
            redis.server().pause();
            assertThatThrownBy(() -> connection.sync().incr("key")).isInstanceOf(RedisCommandTimeoutException.class);
            RedisFuture<Long> waiting = connection.async().incr("key");

            redis.server().resume();

            assertThat(waiting.get(10, TimeUnit.SECONDS)).isEqualTo(2);
        }
    }

    @Test
    void deadServerIsNeverSignalled() {
        try (RedisServer server = RedisServer.start()) {
            server.kill();
            assertThatThrownBy(server::pause).hasMessageContaining("is not running");
            assertThatThrownBy(server::kill).hasMessageContaining("is not running");
        }
    }

    @Test
    void failedStartShowsTheLog() {
        assertThatThrownBy(() -> RedisServer.start("no-such-directive 1"))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("did not start")
                .hasMessageContaining("no-such-directive");
    }

    @Test
    void closedServerLeavesNoFiles() {
        RedisServer server = RedisServer.start();
        assertThat(server.log()).exists();
        server.close();
        server.close();
        assertThat(server.log().getParent()).doesNotExist();
    }

    @Test
    void portsOfServersDiffer() {
        try (RedisServer one = RedisServer.start();
                RedisServer other = RedisServer.start()) {
            assertThat(one.port()).isNotEqualTo(other.port());
        }
    }
}
