package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpResponse;
import org.junit.jupiter.api.Test;

/** The endpoint on a real server. */
class RateLimitsEndpointTest {

    private static final String LIMITS = """
            management.endpoints.web.exposure.include: ratelimits, health
            management.endpoint.health.show-details: always
            reactor-ratelimit.limits:
              hello: {paths: /hello, key: api-key:X-Api-Key or ip, limit: 3 per day}
              other: {paths: [/a, /b/**], key: all, limit: 4 per day, algorithm: fixed-window}
              costly: {paths: /c, key: all, limit: 9 per day, cost: 8}
            """;

    private static HttpResponse<String> change(WebApplication application, String limit, String json) {
        return application.post("/actuator/ratelimits/" + limit, json, "Content-Type", "application/json");
    }

    @Test
    void showsLimitsFiguresAndHashesOfHotKeys() {
        try (WebApplication application = WebApplication.start(LIMITS, LimitsTest.OwnBeans.class)) {
            application.statuses(5, "/hello", "X-Api-Key", "a-very-secret-key");

            assertThat(application.get("/actuator/ratelimits").body())
                    .contains("\"hello\"", "\"other\"", "\"own\"", "[\"/a\",\"/b/**\"]", "FixedWindow[limit=4");
            assertThat(application.get("/actuator/ratelimits/hello").body())
                    .contains("\"key\":\"api-key:X-Api-Key or ip\"", "\"store\":\"local\"")
                    .contains("\"allowed\":3", "\"denied\":2", "\"permitsTaken\":3")
                    .contains("\"atLeast\":3", "\"atLeast\":2")
                    .doesNotContain("a-very-secret-key", "apikey:");
            assertThat(application.get("/actuator/ratelimits/nothing").statusCode())
                    .isEqualTo(404);
        }
    }

    @Test
    void changesNothingUnlessItMay() {
        try (WebApplication application = WebApplication.start(LIMITS)) {
            assertThat(change(application, "hello", "{\"limit\":\"9 per day\"}").statusCode())
                    .isEqualTo(405);
            assertThat(application.statuses(4, "/hello")).containsExactly(200, 200, 200, 429);
        }
    }

    @Test
    void changesLimitsAndPausesAndResetsKeysIfItMay() {
        try (WebApplication application =
                WebApplication.start(LIMITS + "management.endpoint.ratelimits.access: unrestricted")) {
            assertThat(application.statuses(4, "/hello")).containsExactly(200, 200, 200, 429);

            HttpResponse<String> changed = change(application, "hello", "{\"limit\":\"9 per day\",\"burst\":4}");
            assertThat(changed.statusCode()).isEqualTo(200);
            assertThat(changed.body()).contains("TokenBucket[capacity=4, refill=9");
            assertThat(application.statuses(2, "/hello")).containsExactly(200, 429);

            assertThat(change(application, "hello", "{\"key\":\"ip:127.0.0.1\",\"reset\":true}")
                            .statusCode())
                    .isEqualTo(200);
            assertThat(application.get("/hello").statusCode()).isEqualTo(200);

            assertThat(change(application, "hello", "{\"key\":\"ip:127.0.0.1\",\"pause\":\"PT24H\"}")
                            .statusCode())
                    .isEqualTo(200);
            assertThat(application.get("/hello").statusCode()).isEqualTo(429);
        }
    }

    @Test
    void whatCannotBeDoneIsTold() {
        try (WebApplication application =
                WebApplication.start(LIMITS + "management.endpoint.ratelimits.access: unrestricted")) {
            assertThat(change(application, "nothing", "{\"limit\":\"9 per day\"}")
                            .statusCode())
                    .isEqualTo(400);
            for (String wrong : new String[] {
                "{}",
                "{\"limit\":\"lots\"}",
                "{\"limit\":\"20\"}",
                "{\"burst\":4}",
                "{\"pause\":\"PT1H\"}",
                "{\"key\":\"ip:127.0.0.1\"}",
                "{\"key\":\"ip:127.0.0.1\",\"pause\":\"-PT1H\"}"
            }) {
                assertThat(change(application, "hello", wrong).statusCode())
                        .as(wrong)
                        .isEqualTo(400);
            }
            assertThat(change(application, "other", "{\"limit\":\"4 per day\",\"burst\":4}")
                            .statusCode())
                    .as("a window has no burst")
                    .isEqualTo(400);
            assertThat(change(application, "costly", "{\"limit\":\"5 per day\"}")
                            .statusCode())
                    .as("less than a request costs")
                    .isEqualTo(400);
        }
    }

    @Test
    void healthTellsWhereTheLimitsLive() {
        try (WebApplication application = WebApplication.start(LIMITS)) {
            assertThat(application.get("/actuator/health").body())
                    .contains("\"rateLimits\":{\"details\":{\"store\":\"local\"},\"status\":\"UP\"}");
        }
    }
}
