package io.github.reactorratelimit.examples.playground.live;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.examples.playground.Api;
import io.github.reactorratelimit.examples.playground.Playground;
import io.github.reactorratelimit.testing.Await;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import reactor.core.Disposable;

/** What the server of the first tab accepts, and what it refuses. */
class LiveApiTest {

    private static Playground playground;
    private static Api api;

    @BeforeAll
    static void start() {
        // All limits but that of the commands: a fast machine must not meet it here.
        playground = Playground.start(
                "reactor-ratelimit.limits.simulations.paths=/api/live",
                "reactor-ratelimit.limits.simulations.key=all",
                "reactor-ratelimit.limits.simulations.limit=24",
                "reactor-ratelimit.limits.simulations.algorithm=concurrency");
        api = new Api(playground);
    }

    @AfterAll
    static void stop() {
        playground.close();
    }

    static Map<String, Object> settings() {
        return new HashMap<>(Map.ofEntries(
                Map.entry("policy", "token-bucket"),
                Map.entry("rate", 10),
                Map.entry("burst", 10),
                Map.entry("windowSeconds", 1),
                Map.entry("queue", 10),
                Map.entry("inFlight", 5),
                Map.entry("workMillis", 100),
                Map.entry("mode", "reject"),
                Map.entry("maxWaitMillis", 1000),
                Map.entry("traffic", "steady"),
                Map.entry("trafficRate", 10),
                Map.entry("burstSize", 10),
                Map.entry("burstEveryMillis", 1000)));
    }

    static Stream<Arguments> badFields() {
        return Stream.of(
                Arguments.of("rate", 0),
                Arguments.of("rate", -1),
                Arguments.of("rate", 201),
                Arguments.of("rate", 1.5),
                Arguments.of("rate", "NaN"),
                Arguments.of("rate", null),
                Arguments.of("rate", Long.MAX_VALUE),
                Arguments.of("burst", 1e300),
                Arguments.of("windowSeconds", List.of(1)),
                Arguments.of("queue", 501),
                Arguments.of("inFlight", 101),
                Arguments.of("workMillis", 5_001),
                Arguments.of("maxWaitMillis", -1),
                Arguments.of("trafficRate", 301),
                Arguments.of("burstSize", 101),
                Arguments.of("burstEveryMillis", 249),
                Arguments.of("policy", "magic"),
                Arguments.of("mode", "REJECT"),
                Arguments.of("traffic", 7),
                Arguments.of("colour", "red"));
    }

    @ParameterizedTest
    @MethodSource("badFields")
    void aBadFieldIsNamedInAProblemDocument(String field, Object value) {
        Map<String, Object> settings = settings();
        settings.put(field, value);

        ResponseEntity<String> answer = api.post("/api/live", settings);

        assertThat(answer.getStatusCode().value()).isEqualTo(400);
        assertThat(answer.getHeaders().getContentType()).isEqualTo(MediaType.APPLICATION_PROBLEM_JSON);
        assertThat(answer.getBody()).contains("\"field\":\"" + field + "\"").contains("\"detail\":\"" + field + " ");
    }

    @Test
    void aMissingFieldIsNamed() {
        Map<String, Object> settings = settings();
        settings.remove("burst");

        assertThat(api.post("/api/live", settings).getBody()).contains("burst is missing");
    }

    @Test
    void whatIsNoJsonIsRefused() {
        assertThat(api.post("/api/live", "{\"rate\":NaN}").getStatusCode().value())
                .isEqualTo(400);
        assertThat(api.post("/api/live", "[]").getStatusCode().value()).isEqualTo(400);
    }

    @Test
    void commandsForASimulationThatIsGoneAreNotFound() {
        assertThat(api.post("/api/live/gone/clicks", Map.of("requests", 1))
                        .getStatusCode()
                        .value())
                .isEqualTo(404);
        assertThat(api.post("/api/live/gone/cancel", Map.of()).getStatusCode().value())
                .isEqualTo(404);
        assertThat(api.post("/api/live/gone/pause", Map.of("millis", 1))
                        .getStatusCode()
                        .value())
                .isEqualTo(404);
        assertThat(api.post("/api/live/gone/clicks", Map.of("requests", 51)).getBody())
                .contains("\"field\":\"requests\"");
    }

    @Test
    void noMoreSimulationsThanTheFilterAllowsAndEachEndsWithItsStream() {
        List<Disposable> pages = api.streams(24, "/api/live", settings());

        assertThat(playground.bean(Simulations.class).size()).isEqualTo(24);
        assertThat(api.post("/api/live", settings()).getStatusCode().value()).isEqualTo(429);

        pages.forEach(Disposable::dispose);
        Await.until("all have ended", () -> playground.bean(Simulations.class).size() == 0);
    }
}
