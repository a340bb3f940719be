package io.github.reactorratelimit.testing.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.testing.Await;
import io.lettuce.core.api.StatefulRedisConnection;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(RedisExtension.class)
class StandaloneTest {

    private final Standalone shared;

    StandaloneTest(Standalone shared) {
        this.shared = shared;
    }

    @Test
    void connectionAnswers() {
        try (StatefulRedisConnection<String, String> connection = shared.connect()) {
            assertThat(connection.sync().ping()).isEqualTo("PONG");
        }
    }

    @Test
    void lettuceGivesUpNoEarlierThanATest() {
        try (StatefulRedisConnection<String, String> connection = shared.connect()) {
            assertThat(connection.getTimeout()).isGreaterThanOrEqualTo(Await.LONG);
            assertThat(shared.uri().getTimeout()).isGreaterThanOrEqualTo(Await.LONG);
        }
    }

    @Test
    void wholeRunSharesOneServer(Standalone again) {
        assertThat(again).isSameAs(shared);
    }

    @Test
    void ownServerIsAnother() {
        try (Standalone own = Standalone.start()) {
            assertThat(own.uri()).isNotEqualTo(shared.uri());
            assertThat(own.server().isAlive()).isTrue();
        }
    }
}
