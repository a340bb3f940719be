package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** Instances of an application and one Redis, on real servers. */
class RedisApplicationsTest {

    /** Of calls in tests that count answers: no pause of a busy machine is longer. */
    private static final String PATIENT = "reactor-ratelimit.redis.deadline: 30s\n";

    /** Of calls in tests that take the server away. What it may decide too early is only waited for, never counted. */
    private static final String BRISK = "reactor-ratelimit.redis.deadline: 1s\n";

    private static final String SHOWN = """
            management.endpoints.web.exposure.include: ratelimits, health
            management.endpoint.health.show-details: always
            """;

    private static final String TEN = """
            reactor-ratelimit.limits:
              shared: {paths: /hello, key: all, limit: 10 per day}
            """;

    private final Standalone redis = Standalone.start();

    @AfterEach
    void end() {
        redis.close();
    }

    private String own(String yaml) {
        return yaml + "reactor-ratelimit.redis.uri: redis://127.0.0.1:"
                + redis.uri().getPort() + "\n";
    }

    private static WebApplication started(String yaml) {
        return WebApplication.start(yaml).connected();
    }

    private WebApplication withSpringDataRedis(String yaml) {
        return WebApplication.start(
                yaml,
                List.of(
                        "spring.data.redis.host=127.0.0.1",
                        "spring.data.redis.port=" + redis.uri().getPort()));
    }

    private static List<Integer> alternately(int requests, WebApplication one, WebApplication other) {
        List<Integer> statuses = new ArrayList<>();
        for (int i = 0; i < requests; i++) {
            statuses.add((i % 2 == 0 ? one : other).get("/hello").statusCode());
        }
        return statuses;
    }

    private static List<Integer> tenOf20() {
        List<Integer> expected = new ArrayList<>(Collections.nCopies(10, 200));
        expected.addAll(Collections.nCopies(10, 429));
        return expected;
    }

    @Test
    void aClientThatAlternatesBetweenTwoInstancesGetsExactlyTheSharedLimit() {
        try (WebApplication one = started(own(PATIENT + TEN + SHOWN));
                WebApplication other = started(own(PATIENT + TEN))) {
            assertThat(alternately(20, one, other)).isEqualTo(tenOf20());
            assertThat(one.get("/actuator/ratelimits/shared").body())
                    .contains("\"store\":\"redis\"", "\"allowed\":5", "\"denied\":5");
        }
    }

    @Test
    void theApplicationsOwnRedisIsUsed() {
        try (WebApplication one = withSpringDataRedis(PATIENT + TEN).connected();
                WebApplication other = started(own(PATIENT + TEN))) {
            assertThat(alternately(20, one, other)).isEqualTo(tenOf20());
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class OwnFactory {

        @Bean
        RedisConnectionFactory ownFactory(@Value("${test.port}") int port) {
            return new LettuceConnectionFactory("127.0.0.1", port);
        }
    }

    @Test
    void aConnectionFactoryOfTheApplicationIsUsedWhateverItsBeanSaysItIs() {
        String told = "logging.level.io.github.reactorratelimit.webflux.boot.RateLimits: info\n";
        List<String> port = List.of("test.port=" + redis.uri().getPort());
        try (ConsoleLines output = ConsoleLines.read();
                WebApplication one = WebApplication.start(PATIENT + TEN + told, port, OwnFactory.class)
                        .connected();
                WebApplication other = started(own(PATIENT + TEN))) {
            assertThat(alternately(20, one, other)).isEqualTo(tenOf20());
            assertThat(output.text()).contains("Rate limits in Redis: [shared]; in this process: []");
        }
    }

    @Test
    void applicationsOfDifferentNamesDoNotShareLimits() {
        try (WebApplication one = started(own(PATIENT + TEN + "spring.application.name: one\n"));
                WebApplication other = started(own(PATIENT + TEN + "spring.application.name: other\n"));
                WebApplication again = started(own(PATIENT + TEN + "spring.application.name: one\n"))) {
            assertThat(alternately(20, one, other)).containsOnly(200);
            assertThat(again.get("/hello").statusCode()).isEqualTo(429);
        }
    }

    @Test
    void aLocalLimitOfAnApplicationWithRedisIsItsOwn() {
        try (WebApplication one = withSpringDataRedis(TEN + "reactor-ratelimit.store: local");
                WebApplication other = withSpringDataRedis(TEN + "reactor-ratelimit.store: local")) {
            assertThat(alternately(20, one, other)).containsOnly(200);
        }
    }

    @Test
    void prepaidPermitsAreWrittenInYaml() {
        String limit = "reactor-ratelimit.limits.shared: {paths: /hello, key: all, limit: 1000 per day";
        try (WebApplication prepaying = started(own(PATIENT + limit + ", prepaid: 1m}\n"));
                WebApplication other = started(own(PATIENT + limit + "}\n"))) {
            RateLimiter watching =
                    other.bean(RateLimits.class).limiter("shared").orElseThrow();
            long ahead = 0;
            for (int spent = 1; spent <= 20; spent++) {
                assertThat(prepaying.get("/hello").statusCode()).isEqualTo(200);
                long debited = 1_000 - watching.peek("*").block().remaining();
                ahead = Math.max(ahead, debited - spent);
            }
            assertThat(ahead).as("permits debited on Redis and not yet spent").isPositive();
        }
    }

    @Test
    void aLimitThatIsChangedInOneInstanceRulesInTheOther() {
        try (WebApplication one = started(own(PATIENT + TEN));
                WebApplication other = started(own(PATIENT + TEN))) {
            assertThat(alternately(6, one, other)).containsOnly(200);
            one.bean(RateLimits.class)
                    .change("shared", Rate.parse("7 per day"), null)
                    .block();
            Await.until(
                    "the other has heard of it",
                    () -> other.bean(RateLimits.class)
                                    .limiter("shared")
                                    .orElseThrow()
                                    .policy()
                                    .capacity()
                            == 7);
            assertThat(alternately(4, other, one)).containsExactly(200, 429, 429, 429);
        }
    }

    @Test
    void aChangeOutlivesTheApplicationWhichIsToldUntilAHigherEpochRules() {
        try (WebApplication changing = started(own(PATIENT + TEN))) {
            changing.bean(RateLimits.class)
                    .change("shared", Rate.parse("7 per day"), null)
                    .block();
        }
        try (ConsoleLines output = ConsoleLines.read();
                WebApplication next = started(own(PATIENT + TEN))) {
            Await.until("that is told", () -> output.text().contains("The policy in effect of limit 'shared' is"));
            assertThat(capacity(next)).isEqualTo(7);
        }
        String epoch = "reactor-ratelimit.redis.policy-epoch: 100\n";
        try (WebApplication last = started(own(PATIENT + TEN + epoch))) {
            assertThat(last.get("/hello").statusCode()).isEqualTo(200);
            assertThat(capacity(last)).isEqualTo(10);
        }
    }

    private static long capacity(WebApplication application) {
        return application
                .bean(RateLimits.class)
                .limiter("shared")
                .orElseThrow()
                .policy()
                .capacity();
    }

    @Test
    void closedLimitsAnswer503WhileRedisIsAway() {
        outage(
                "closed",
                application -> assertThat(application.statuses(20, "/hello")).containsOnly(503));
    }

    @Test
    void openLimitsLetPassWhileRedisIsAway() {
        outage(
                "open",
                application -> assertThat(application.statuses(20, "/hello")).containsOnly(200));
    }

    @Test
    void localLimitsGiveOutAShareWhileRedisIsAway() {
        List<Integer> twoOf20 = new ArrayList<>(List.of(200, 200));
        twoOf20.addAll(Collections.nCopies(18, 429));
        outage(
                "local",
                application -> assertThat(application.statuses(20, "/hello", "X-Client", "new"))
                        .isEqualTo(twoOf20));
    }

    private interface Outage {
        void check(WebApplication application);
    }

    /** Takes the server away and gives it back, under an application that is asked all the time. */
    private void outage(String whenUnavailable, Outage outage) {
        String limit = """
                reactor-ratelimit.limits: {shared: {paths: /hello, key: header:X-Client, limit: 1000 per hour, missing-key: shared}}
                reactor-ratelimit.redis: {instances: 500, when-unavailable: %s}
                """.formatted(whenUnavailable);
        try (WebApplication application = started(own(BRISK + limit + SHOWN))) {
            Await.until("Redis decides", () -> decidedByRedis(application));

            redis.server().kill();
            Await.until("its absence is noticed", () -> !decidedByRedis(application));
            outage.check(application);
            assertThat(application.get("/actuator/health").body()).contains("\"status\":\"DEGRADED\"");
            assertThat(application.get("/actuator/health").statusCode()).isEqualTo(200);

            redis.server().restart();
            Await.until("Redis decides again", () -> decidedByRedis(application));
            Await.until(
                    "health is up again",
                    () -> !application.get("/actuator/health").body().contains("DEGRADED"));
        }
    }

    private static boolean decidedByRedis(WebApplication application) {
        HttpResponse<String> answer = application.get("/hello");
        return answer.statusCode() == 200
                && answer.headers()
                        .firstValue("RateLimit")
                        .filter(limit -> limit.matches("\"shared\";r=9\\d\\d.*"))
                        .isPresent();
    }

    /** Connections to the server, but for the one that asks. */
    private long connections() {
        RedisClient client = RedisClient.create(redis.uri());
        try (StatefulRedisConnection<String, String> connection = client.connect()) {
            return connection.sync().clientList().lines().count() - 1;
        } finally {
            client.shutdown(0, 0, TimeUnit.SECONDS);
        }
    }

    @Test
    void applicationThatIsStoppedHasNoConnectionsAndLimitsWorkWhenItStartsAgain() {
        for (boolean own : new boolean[] {true, false}) {
            String yaml = PATIENT + """
                    reactor-ratelimit.limits:
                      some: {key: all, limit: 4 per day}
                      soft-%s: {key: all, limit: 100 per day, soft-limit: 50 per day, max-wait: 1s}
                    spring.application.name: stopped-%s
                    """.formatted(own, own);
            try (WebApplication application =
                    own ? started(own(yaml)) : withSpringDataRedis(yaml).connected()) {
                assertThat(application.statuses(3, "/hello")).containsOnly(200);
                assertThat(connections()).isPositive();

                application.context().stop();
                assertThat(connections()).as("own client: " + own).isZero();

                application.context().start();
                application.connected();
                assertThat(application.statuses(2, "/hello"))
                        .as("own client: " + own)
                        .containsExactly(200, 429);
            }
        }
    }
}
