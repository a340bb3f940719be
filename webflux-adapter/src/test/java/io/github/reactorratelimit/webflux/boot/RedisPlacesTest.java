package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.api.StatefulRedisConnection;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The two ways to say where Redis is, and each combination of them: the application's own, and one for the limits alone. */
class RedisPlacesTest {

    private static final String LIMIT = """
            reactor-ratelimit.limits: {shared: {paths: /hello, key: all, limit: 10 per day}}
            reactor-ratelimit.redis.deadline: 30s
            """;

    private static final Standalone APPLICATIONS = Standalone.start();
    private static final Standalone LIMITS = Standalone.start();

    @AfterAll
    static void end() {
        APPLICATIONS.close();
        LIMITS.close();
    }

    /**
     * Nothing listens on port 1: whoever connects there gets no permit.
     *
     * @param springData how Spring Data Redis is configured: not at all, excluded, by host and port, or by a URL
     * @param own whether there is a Redis for the limits alone, and how it is named
     * @param used whose Redis has the key afterwards
     */
    @ParameterizedTest
    @CsvSource({
        "excluded, none, process",
        "excluded, uri, limits",
        "port, none, applications",
        "port, uri, limits",
        "url, none, applications",
        "url, uri, limits",
        "nothing, uri, limits",
        "wrong port, uri, limits"
    })
    void limitsLiveWhereTheConfigurationSays(String springData, String own, String used) {
        List<String> properties = new ArrayList<>(
                switch (springData) {
                    case "excluded" ->
                        List.of("spring.autoconfigure.exclude="
                                + "org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration");
                    case "port" ->
                        List.of("spring.data.redis.host=127.0.0.1", "spring.data.redis.port=" + port(APPLICATIONS));
                    case "url" -> List.of("spring.data.redis.url=redis://127.0.0.1:" + port(APPLICATIONS));
                    case "wrong port" -> List.of("spring.data.redis.host=127.0.0.1", "spring.data.redis.port=1");
                    default -> List.of();
                });
        properties.add("spring.application.name=" + springData.replace(' ', '-') + "-" + own);
        if (own.equals("uri")) {
            properties.add("reactor-ratelimit.redis.uri=redis://127.0.0.1:" + port(LIMITS));
        }
        try (WebApplication application = WebApplication.start(LIMIT, properties)) {
            if (!used.equals("process")) {
                application.connected();
            }
            assertThat(application.statuses(11, "/hello"))
                    .containsExactly(200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 429);
        }
        String prefix = "ratelimit:" + springData.replace(' ', '-') + "-" + own;
        assertThat(hasKeys(APPLICATIONS, prefix)).isEqualTo(used.equals("applications"));
        assertThat(hasKeys(LIMITS, prefix)).isEqualTo(used.equals("limits"));
    }

    private static int port(Standalone redis) {
        return redis.uri().getPort();
    }

    private static boolean hasKeys(Standalone redis, String prefix) {
        try (StatefulRedisConnection<String, String> connection = redis.connect()) {
            return !connection.sync().keys("*" + prefix + "*").isEmpty();
        }
    }

    @Test
    void rulesOfTheApplicationLiveInTheConfiguredRedis() {
        List<String> properties = List.of(
                "spring.application.name=rules", "reactor-ratelimit.redis.uri=redis://127.0.0.1:" + port(LIMITS));
        String shown = "management.endpoints.web.exposure.include: ratelimits\nreactor-ratelimit.redis.deadline: 30s\n";
        try (WebApplication application = WebApplication.start(shown, properties, PlansTest.Tiers.class)) {
            application.connected();
            assertThat(application.statuses(3, "/hello", "X-Api-Key", "free-1")).containsExactly(200, 200, 429);
            assertThat(application.get("/actuator/ratelimits/per-key").body())
                    .contains("\"store\":\"redis\"", "\"allowed\":2", "\"denied\":1");
        }
        assertThat(hasKeys(LIMITS, "ratelimit:rules")).isTrue();
    }
}
