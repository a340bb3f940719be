package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.micrometer.core.instrument.MeterRegistry;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.slf4j.LoggerFactory;

/** Redis answers the limits of an application with errors, or goes away after a limit was tightened. */
class RedisErrorRepliesTest {

    private static final int MANY = 20;

    private static Standalone redis;

    @BeforeAll
    static void start() {
        redis = Standalone.start("user noset on >pw resetchannels ~* &* +@all -set");
    }

    @AfterAll
    static void stop() {
        redis.close();
    }

    @ParameterizedTest
    @CsvSource({
        "'', 503",
        "on-failure: allow, 200",
        "when-unavailable: open, 200",
        "when-unavailable: local, 503",
        "'when-unavailable: open, on-failure: deny', 503",
    })
    void refusedPermissionFollowsTheChoiceOfTheLimit(String choice, int status) {
        String more = choice.isEmpty() ? "" : ", " + choice;
        String yaml = """
                reactor-ratelimit.limits:
                  one: {paths: /hello, key: all, limit: 1000 per day%s}
                  other: {paths: /hello, key: all, algorithm: sliding-log, limit: 1000 per day%s}
                reactor-ratelimit.redis: {uri: 'redis://noset:pw@127.0.0.1:%d', instances: 2, deadline: 60s}
                """.formatted(more, more, redis.uri().getPort());
        try (WebApplication application = WebApplication.start(yaml)) {
            awaitConnection(application);
            ListAppender<ILoggingEvent> log = appender();
            assertThat(application.statuses(MANY, "/hello")).containsOnly(status);
            assertThat(log.list).as("stack traces").noneMatch(event -> event.getThrowableProxy() != null);
            assertThat(application
                            .bean(MeterRegistry.class)
                            .get("ratelimit.store.failures")
                            .tag("limiter", "one")
                            .counter()
                            .count())
                    .isGreaterThanOrEqualTo(MANY);
            assertThat(log.list)
                    .extracting(ILoggingEvent::getFormattedMessage)
                    .filteredOn(line -> line.startsWith("Limiter 'one'"))
                    .singleElement()
                    .asString()
                    .contains("Allow +set");
        }
    }

    /** All are asked in one step, and the error does not say which of them failed. */
    @Test
    void aLimitThatFailsLetsNobodyPassTheOthers() {
        String yaml = """
                reactor-ratelimit.limits:
                  failing: {paths: /hello, key: all, limit: 1000 per day, on-failure: allow}
                  local: {paths: /hello, key: all, limit: 3 per day, store: local, on-failure: allow}
                reactor-ratelimit.redis: {uri: 'redis://noset:pw@127.0.0.1:%d', deadline: 60s}
                """.formatted(redis.uri().getPort());
        try (WebApplication application = WebApplication.start(yaml)) {
            awaitConnection(application);
            assertThat(application.statuses(5, "/hello")).containsExactly(200, 200, 200, 429, 429);
        }
    }

    private static void awaitConnection(WebApplication application) {
        Await.until(
                "connected",
                () -> application.bean(RateLimits.class).shared().condition().block().findings().stream()
                        .anyMatch(finding -> finding.contains("Allow +set")));
    }

    /** Boot takes off what was there when the application started. */
    private static ListAppender<ILoggingEvent> appender() {
        ListAppender<ILoggingEvent> appender = new ListAppender<>();
        appender.start();
        ((Logger) LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME)).addAppender(appender);
        return appender;
    }

    @Test
    void tightenedLimitHoldsWhenRedisBecomesUnavailable() {
        try (Standalone own = Standalone.start()) {
            String yaml = """
                    reactor-ratelimit.limits:
                      shared: {paths: /hello, key: all, limit: 100 per day}
                    reactor-ratelimit.redis: {uri: 'redis://127.0.0.1:%d', instances: 2, when-unavailable: local, deadline: 5s}
                    management.endpoint.ratelimits.access: unrestricted
                    management.endpoints.web.exposure.include: ratelimits
                    """.formatted(own.uri().getPort());
            try (WebApplication application = WebApplication.start(yaml).connected()) {
                int changed = application
                        .post(
                                "/actuator/ratelimits/shared",
                                "{\"limit\": \"6 per day\"}",
                                "Content-Type",
                                "application/json")
                        .statusCode();
                assertThat(changed).isBetween(200, 299);
                own.server().kill();
                assertThat(application.statuses(60, "/hello"))
                        .filteredOn(status -> status == 200)
                        .hasSize(3);
            }
        }
    }
}
