package io.github.reactorratelimit.examples.playground.fragile;

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

/** What the server of the second tab accepts, and what it refuses. */
class FragileApiTest {

    private static Playground playground;
    private static Api api;

    @BeforeAll
    static void start() {
        // All limits but that of the commands: a fast machine must not meet it here.
        playground = Playground.start(
                "reactor-ratelimit.limits.fragile-simulations.paths=/api/fragile",
                "reactor-ratelimit.limits.fragile-simulations.key=all",
                "reactor-ratelimit.limits.fragile-simulations.limit=12",
                "reactor-ratelimit.limits.fragile-simulations.algorithm=concurrency");
        api = new Api(playground);
    }

    @AfterAll
    static void stop() {
        playground.close();
    }

    static Map<String, Object> settings() {
        return new HashMap<>(Map.ofEntries(
                Map.entry("capacity", 40),
                Map.entry("breaks", "refuses"),
                Map.entry("retries", "never"),
                Map.entry("shape", "leaky-bucket"),
                Map.entry("rate", 40),
                Map.entry("inFlight", 4),
                Map.entry("maxWaitMillis", 3_000),
                Map.entry("traffic", "bursts"),
                Map.entry("trafficRate", 60),
                Map.entry("burstSize", 60),
                Map.entry("burstEveryMillis", 2_000)));
    }

    static Stream<Arguments> badFields() {
        return Stream.of(
                Arguments.of("capacity", 1),
                Arguments.of("capacity", 201),
                Arguments.of("capacity", 2.5),
                Arguments.of("capacity", null),
                Arguments.of("breaks", "explodes"),
                Arguments.of("retries", true),
                Arguments.of("shape", "magic"),
                Arguments.of("shape", List.of("adaptive")),
                Arguments.of("rate", 0),
                Arguments.of("rate", Long.MAX_VALUE),
                Arguments.of("inFlight", 101),
                Arguments.of("maxWaitMillis", -1),
                Arguments.of("maxWaitMillis", 10_001),
                Arguments.of("traffic", "STEADY"),
                Arguments.of("trafficRate", 301),
                Arguments.of("burstSize", 101),
                Arguments.of("burstEveryMillis", 249),
                Arguments.of("colour", "red"));
    }

    @ParameterizedTest
    @MethodSource("badFields")
    void aBadFieldIsNamedInAProblemDocument(String field, Object value) {
        Map<String, Object> settings = settings();
        settings.put(field, value);

        ResponseEntity<String> answer = api.post("/api/fragile", settings);

        assertThat(answer.getStatusCode().value()).isEqualTo(400);
        assertThat(answer.getHeaders().getContentType()).isEqualTo(MediaType.APPLICATION_PROBLEM_JSON);
        assertThat(answer.getBody()).contains("\"field\":\"" + field + "\"").contains("\"detail\":\"" + field + " ");
    }

    @ParameterizedTest
    @MethodSource("commands")
    void aCommandForASimulationThatIsGoneIsNotFound(String command, Map<String, Object> body) {
        assertThat(api.post("/api/fragile/gone/" + command, body)
                        .getStatusCode()
                        .value())
                .isEqualTo(404);
    }

    static Stream<Arguments> commands() {
        return Stream.of(
                Arguments.of("clicks", Map.of("requests", 50)), Arguments.of("bad-moment", Map.of("millis", 8_000)));
    }

    @Test
    void aCommandBeyondItsBoundsIsRefused() {
        assertThat(api.post("/api/fragile/gone/clicks", Map.of("requests", 101)).getBody())
                .contains("\"field\":\"requests\"");
        assertThat(api.post("/api/fragile/gone/bad-moment", Map.of("millis", 60_001))
                        .getBody())
                .contains("\"field\":\"millis\"");
    }

    @Test
    void noMoreSimulationsThanTheFilterAllowsAndEachEndsWithItsStream() {
        List<Disposable> pages = api.streams(12, "/api/fragile", settings());

        assertThat(playground.bean(Simulations.class).size()).isEqualTo(12);
        assertThat(api.post("/api/fragile", settings()).getStatusCode().value()).isEqualTo(429);

        pages.forEach(Disposable::dispose);
        Await.until("all have ended", () -> playground.bean(Simulations.class).size() == 0);
    }
}
