package io.github.reactorratelimit.testing.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RequestParserTest {

    private static final String REQUESTS = "*1\r\n$4\r\nping\r\n"
            + "*3\r\n$3\r\nSET\r\n$13\r\n*1\r\n$1\r\nX\r\n\r\n\r\n$0\r\n\r\n"
            + "*2\r\n$3\r\nGET\r\n$2\r\n\u00e9\r\n";

    private final List<String> commands = new ArrayList<>();
    private final RequestParser parser = new RequestParser(commands::add);

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 7, 1_000})
    void commandsAreFoundInPiecesOfAnySize(int size) {
        byte[] bytes = REQUESTS.getBytes(StandardCharsets.UTF_8);
        for (int from = 0; from < bytes.length; from += size) {
            parser.read(Unpooled.wrappedBuffer(bytes, from, Math.min(size, bytes.length - from)));
        }
        assertThat(commands).containsExactly("PING", "SET", "GET");
    }

    @Test
    void incompleteCommandIsNotCounted() {
        parser.read(Unpooled.copiedBuffer("*2\r\n$3\r\nGET\r\n$2\r\nk", StandardCharsets.UTF_8));
        assertThat(commands).isEmpty();
    }

    @Test
    void whatIsNoRequestIsRefused() {
        assertThatThrownBy(() -> parser.read(Unpooled.copiedBuffer("+1\r\n", StandardCharsets.UTF_8)))
                .hasMessageContaining("not a request");
    }
}
