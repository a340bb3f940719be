package io.github.reactorratelimit.benchmarks.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import io.github.reactorratelimit.testing.redis.RedisServer;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Starts every server of the web groups in this JVM: it allows or denies under a little load. */
class WebServersTest {

    private static final int CONNECTIONS = 4;
    private static final int REQUESTS = 40;

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
     * The load fails if a response has another status. A server that denies allows the first request of a
     * connection.
     */
    @ParameterizedTest
    @EnumSource(ServerKind.class)
    void everyResponseHasTheStatusThatIsMeasured(ServerKind kind) throws Exception {
        try (WebServer server = WebServer.start(kind, redis.port());
                HttpLoad load = HttpLoad.open(server.port(), CONNECTIONS)) {
            if (!kind.allows()) {
                load.run(CONNECTIONS, 0);
            }

            assertThatCode(() -> load.run(REQUESTS, kind.status())).doesNotThrowAnyException();
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
                "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nVary: Accept\r\n\r\n",
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"
            })
    void responseIsCompleteWithItsLastByteAndNotBefore(String text) {
        ByteBuffer received = ByteBuffer.allocate(1_024);
        HttpConnection.Response response = new HttpConnection.Response();
        byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
        for (int i = 0; i < bytes.length; i++) {
            assertThat(response.isComplete(received)).as(text.substring(0, i)).isFalse();
            received.put(bytes[i]);
        }

        assertThat(response.isComplete(received)).isTrue();
        assertThat(response.status()).isEqualTo(200);
    }
}
