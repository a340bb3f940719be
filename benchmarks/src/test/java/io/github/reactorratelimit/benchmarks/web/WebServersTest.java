package io.github.reactorratelimit.benchmarks.web;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.embedded.RedisServer;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every server of the web groups in this JVM, under a little load: it still starts, and allows or denies as it should. */
class WebServersTest {

    private static final Duration MOMENT = Duration.ofMillis(20);
    private static final int CONNECTIONS = 4;

    private static RedisServer redis;

    @BeforeAll
    static void startRedis() throws Exception {
        redis = RedisServer.start();
    }

    @AfterAll
    static void stopRedis() throws Exception {
        redis.close();
    }

    /**
     * The load fails if an answer has another status; each connection waits for at least one, however long that takes. A server that denies allows the
     * first request of a connection; all others answer as they should from the beginning.
     */
    @ParameterizedTest
    @EnumSource(ServerKind.class)
    void everyAnswerHasTheStatusThatIsMeasured(ServerKind kind) throws Exception {
        try (WebServer server = WebServer.start(kind, redis.port());
                HttpLoad load = HttpLoad.open(server.port(), CONNECTIONS)) {
            if (!kind.allows()) {
                load.run(MOMENT, 0);
            }

            assertThat(load.answersOf(MOMENT, kind.status())).isGreaterThanOrEqualTo(CONNECTIONS);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
                "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nVary: Accept\r\n\r\n",
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"
            })
    void answerIsWholeWithItsLastByteAndNotBefore(String text) {
        ByteBuffer received = ByteBuffer.allocate(1_024);
        HttpAnswer answer = new HttpAnswer();
        byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
        for (int i = 0; i < bytes.length; i++) {
            assertThat(answer.isWhole(received)).as(text.substring(0, i)).isFalse();
            received.put(bytes[i]);
        }

        assertThat(answer.isWhole(received)).isTrue();
        assertThat(answer.status()).isEqualTo(200);
    }
}
