package io.github.reactorratelimit.examples.playground.replay;

import static java.util.stream.Collectors.joining;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.examples.playground.Playground;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.reactive.function.client.WebClient;

class ReplayApiTest {

    private static Playground playground;

    @BeforeAll
    static void start() {
        playground = Playground.start("reactor-ratelimit.enabled=false");
    }

    @AfterAll
    static void stop() {
        playground.close();
    }

    private static ResponseEntity<String> replay(String query, String log) {
        return WebClient.create(playground.url())
                .post()
                .uri("/api/replay?" + query)
                .contentType(MediaType.TEXT_PLAIN)
                .bodyValue(log)
                .exchangeToMono(answer -> answer.toEntity(String.class))
                .block();
    }

    @Test
    void tellsWhatThePolicyWouldHaveDenied() {
        ResponseEntity<String> answer = replay("policy=fixed-window:2/m", "1760000000,a\n1760000001,a\n1760000002,a\n");

        assertThat(answer.getStatusCode().value()).isEqualTo(200);
        assertThat(answer.getBody())
                .contains("\"requests\":3")
                .contains("\"allowed\":2")
                .contains("\"denied\":1")
                .contains("{\"key\":\"a\",\"denied\":1,\"requests\":3}");
    }

    @ParameterizedTest
    @CsvSource({
        "policy=magic:1/s, policy",
        "policy=token-bucket:0/s, policy",
        "policy=token-bucket:1/s:queue=3, policy",
        "policy=sliding-log:10001/s, policy",
        "key=host, policy",
        "policy=gcra:1/s&key=colour, key",
        "policy=gcra:1/s&maxWaitMillis=-1, maxWaitMillis",
        "policy=gcra:1/s&maxWaitMillis=NaN, maxWaitMillis",
        "policy=gcra:1/s&maxWaitMillis=3600001, maxWaitMillis"
    })
    void aBadParameterIsNamedInAProblemDocument(String query, String field) {
        ResponseEntity<String> answer = replay(query, "1,a");

        assertThat(answer.getStatusCode().value()).isEqualTo(400);
        assertThat(answer.getHeaders().getContentType()).isEqualTo(MediaType.APPLICATION_PROBLEM_JSON);
        assertThat(answer.getBody()).contains("\"field\":\"" + field + "\"");
    }

    @Test
    void aLogWithoutALineThatCanBeReadIsRefused() {
        assertThat(replay("policy=gcra:1/s", "what?").getBody())
                .contains("\"field\":\"log\"")
                .contains("what?");
        assertThat(replay("policy=gcra:1/s", "").getBody()).contains("it is empty");
    }

    @Test
    void aLogOfTooManyKeysIsRefusedAndToldWhereToGo() {
        String log =
                IntStream.rangeClosed(0, 100_000).mapToObj(key -> "1," + key).collect(joining("\n"));

        ResponseEntity<String> answer = replay("policy=gcra:1/s", log);

        assertThat(answer.getStatusCode().value()).isEqualTo(400);
        assertThat(answer.getBody())
                .contains("\"field\":\"log\"")
                .contains("more than 100,000 different keys")
                .contains("replay command");
    }

    @Test
    void aLogThatIsTooLargeIsRefusedAndToldWhereToGo() {
        ResponseEntity<String> answer = replay("policy=gcra:1/s", "1,a\n".repeat(2_200_000));

        assertThat(answer.getStatusCode().value()).isEqualTo(413);
        assertThat(answer.getBody()).contains("8 MB").contains("replay command");
    }
}
