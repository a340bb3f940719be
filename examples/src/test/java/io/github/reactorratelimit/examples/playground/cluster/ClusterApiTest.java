package io.github.reactorratelimit.examples.playground.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.examples.playground.Api;
import io.github.reactorratelimit.examples.playground.Playground;
import io.github.reactorratelimit.testing.Await;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.core.Disposable;
import tools.jackson.databind.json.JsonMapper;

/** What the server of the cluster's tab accepts, and what it refuses; with its own limits, as they are shipped. */
class ClusterApiTest {

    private static final int MOST = 4;

    private static Playground playground;
    private static WebClient client;
    private static Api api;

    @BeforeAll
    static void start() {
        playground = Playground.start();
        client = WebClient.create(playground.url());
        api = new Api(playground);
    }

    @AfterAll
    static void stop() {
        playground.close();
    }

    static Map<String, Object> settings(Map<String, Object> changes) {
        Map<String, Object> settings = new HashMap<>(Map.of(
                "sharedRate", 20,
                "sharedBurst", 6,
                "failure", "local",
                "asking", "each",
                "pattern", "steady",
                "firstRate", 100,
                "secondRate", 100));
        settings.putAll(changes);
        return settings;
    }

    /** A page that reads; the names of the simulations come into the list. */
    private static Disposable openPage(List<String> names) {
        return client.post()
                .uri("/api/cluster")
                .bodyValue(settings(Map.of()))
                .retrieve()
                .bodyToFlux(Map.class)
                .doOnNext(event -> {
                    if (event.get("simulation") instanceof String name) {
                        names.add(name);
                    }
                })
                .onErrorComplete()
                .subscribe();
    }

    /** Takes nothing of the stream, should there be one, which has no end. */
    private static int statusOfAnotherPage() throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create(playground.url() + "/api/cluster"))
                .header("Content-Type", MediaType.APPLICATION_JSON_VALUE)
                .POST(BodyPublishers.ofByteArray(JsonMapper.builder().build().writeValueAsBytes(settings(Map.of()))))
                .build();
        HttpResponse<InputStream> answer = HttpClient.newHttpClient().send(request, BodyHandlers.ofInputStream());
        answer.body().close();
        return answer.statusCode();
    }

    static Stream<Arguments> badFields() {
        return Stream.of(
                Arguments.of("sharedRate", 0),
                Arguments.of("sharedRate", 101),
                Arguments.of("sharedRate", 1.5),
                Arguments.of("sharedRate", null),
                Arguments.of("sharedBurst", 1),
                Arguments.of("sharedBurst", 1e300),
                Arguments.of("firstRate", -1),
                Arguments.of("secondRate", 101),
                Arguments.of("failure", "LOCAL"),
                Arguments.of("asking", "never"),
                Arguments.of("pattern", "flood"),
                Arguments.of("colour", "red"));
    }

    @ParameterizedTest
    @MethodSource("badFields")
    void aBadFieldIsNamedInAProblemDocument(String field, Object value) {
        Map<String, Object> settings = settings(Map.of());
        settings.put(field, value);

        ResponseEntity<String> answer = api.post("/api/cluster", settings);

        assertThat(answer.getStatusCode().value()).isEqualTo(400);
        assertThat(answer.getHeaders().getContentType()).isEqualTo(MediaType.APPLICATION_PROBLEM_JSON);
        assertThat(answer.getBody()).contains("\"field\":\"" + field + "\"");
    }

    @Test
    void aDeedThatIsNoneIsRefusedAndOneForAPageThatHasGoneIsNotFound() {
        assertThat(api.post("/api/cluster/gone/redis", Map.of("deed", "explode"))
                        .getBody())
                .contains("deed must be one of start, kill, freeze");
        assertThat(api.post("/api/cluster/gone/redis", Map.of("deed", "start"))
                        .getStatusCode()
                        .value())
                .isEqualTo(404);
    }

    @Test
    void whereThereIsNoRedisToStartTheAnswerSaysSo() {
        List<String> names = new CopyOnWriteArrayList<>();
        Disposable page = openPage(names);
        Await.until("the page is greeted", () -> !names.isEmpty());
        System.setProperty("redis.server", "/nowhere/redis-server");
        try {
            ResponseEntity<String> answer =
                    api.post("/api/cluster/" + names.get(0) + "/redis", Map.of("deed", "start"));

            assertThat(answer.getStatusCode().value()).isEqualTo(503);
            assertThat(answer.getBody()).contains("-Dredis.server=/nowhere/redis-server is not an executable file");
        } finally {
            System.clearProperty("redis.server");
            page.dispose();
        }
    }

    @Test
    void eachPageHasOneServerAtMostThatEndsWithItAndThereAreFewPages() throws Exception {
        List<String> names = new CopyOnWriteArrayList<>();
        List<Disposable> pages = new ArrayList<>();
        for (int i = 0; i < MOST; i++) {
            pages.add(openPage(names));
        }
        Await.until("all are greeted", () -> names.size() == MOST);
        assertThat(RedisProcesses.running()).isEmpty();

        for (String name : names) {
            assertThat(api.post("/api/cluster/" + name + "/redis", Map.of("deed", "start"))
                            .getStatusCode()
                            .value())
                    .isEqualTo(200);
        }

        assertThat(RedisProcesses.running()).hasSize(MOST);
        assertThat(statusOfAnotherPage()).isEqualTo(429);

        pages.forEach(Disposable::dispose);
        RedisProcesses.awaitNone();
        Await.until("all have ended", () -> playground.bean(Simulations.class).size() == 0);
    }
}
