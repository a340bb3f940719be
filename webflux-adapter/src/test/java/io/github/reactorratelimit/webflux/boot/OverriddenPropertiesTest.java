package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.webflux.boot.RateLimits.Refreshed;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;

/** One value of one limit, overridden: by a profile, an environment variable, a property of a test. */
class OverriddenPropertiesTest {

    private static final String FILE = """
            reactor-ratelimit:
              limits:
                per-client:
                  key: ip
                  limit: 2 per day
            """;

    private static StandardEnvironment environment(String yaml) {
        StandardEnvironment environment = new StandardEnvironment();
        BoundProperties.sources(yaml).forEach(environment.getPropertySources()::addLast);
        return environment;
    }

    private static RateLimitProperties withVariables(String yaml, Map<String, Object> variables) {
        StandardEnvironment environment = environment(yaml);
        environment
                .getPropertySources()
                .replace(
                        StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME,
                        new SystemEnvironmentPropertySource(
                                StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME, variables));
        ConfigurationPropertySources.attach(environment);
        return PropertyReader.read(environment);
    }

    @ParameterizedTest
    @ValueSource(strings = {"REACTORRATELIMIT_LIMITS_PERCLIENT_LIMIT", "REACTOR_RATELIMIT_LIMITS_PER_CLIENT_LIMIT"})
    void environmentVariableOverridesOneValueOfOneLimit(String variable) {
        RateLimitProperties properties = withVariables(FILE, Map.of(variable, "7 per day"));

        assertThat(properties.limits()).containsOnlyKeys("per-client");
        LimitProperties limit = properties.limits().get("per-client");
        assertThat(limit.limit()).isEqualTo(Rate.parse("7 per day"));
        assertThat(limit.key()).containsExactly(LimitKey.parse("ip"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"REACTORRATELIMIT_LIMITS_PERCLIENT_LIMIT", "REACTOR_RATELIMIT_LIMITS_PER_CLIENT_LIMIT"})
    void environmentVariableOverridesOneValueOfAStartedApplication(String variable) {
        try (WebApplication application = WebApplication.startWithVariables(FILE, Map.of(variable, "3 per day"))) {
            assertThat(application.get("/hello").headers().allValues("RateLimit-Policy"))
                    .containsExactly("\"per-client\";q=3;w=86400");
            assertThat(application.statuses(3, "/hello")).containsExactly(200, 200, 429);

            Refreshed refreshed = application.bean(RateLimits.class).refresh().block();
            assertThat(refreshed.changed()).isEmpty();
            assertThat(refreshed.needRestart()).isEmpty();
        }
    }

    @Test
    void environmentVariablesAloneMakeALimit() {
        RateLimitProperties properties = withVariables(
                "a: b",
                Map.of(
                        "REACTORRATELIMIT_LIMITS_PERCLIENT_LIMIT", "7 per day",
                        "REACTORRATELIMIT_LIMITS_PERCLIENT_KEY", "ip"));

        assertThat(properties.limits()).containsOnlyKeys("perclient");
    }

    @Test
    void namesThatDifferByCaseAndDashesAreOneLimit() {
        StandardEnvironment environment = environment(FILE);
        environment
                .getPropertySources()
                .addFirst(new MapPropertySource(
                        "override", Map.of("reactor-ratelimit.limits.perClient.limit", "7 per day")));

        RateLimitProperties properties = PropertyReader.read(environment);

        assertThat(properties.limits()).containsOnlyKeys("per-client");
        assertThat(properties.limits().get("per-client").limit()).isEqualTo(Rate.parse("7 per day"));
    }

    @Test
    void limitsApplyByOrderAndThenByNameWhateverSourcesSay() {
        PropertySource<?> more = new MapPropertySource(
                "more", Map.of("reactor-ratelimit.limits.z.limit", "1/s", "reactor-ratelimit.limits.z.order", "1"));
        String file = """
                reactor-ratelimit.limits:
                  c: {key: ip, limit: 1/s, order: 2}
                  b: {key: ip, limit: 1/s}
                  a: {key: ip, limit: 1/s}
                """;
        StandardEnvironment before = environment(file);
        before.getPropertySources().addFirst(more);
        StandardEnvironment after = environment(file);
        after.getPropertySources().addLast(more);

        assertThat(PropertyReader.read(before).limits().keySet()).containsExactly("z", "c", "a", "b");
        assertThat(PropertyReader.read(after).limits().keySet()).containsExactly("z", "c", "a", "b");
    }

    @Test
    void profileOverridesOneValueOfOneLimit() {
        String profiles = FILE + """
                ---
                spring.config.activate.on-profile: generous
                reactor-ratelimit.limits.per-client.limit: 3 per day
                """;
        try (WebApplication application = WebApplication.start(profiles)) {
            assertThat(application.statuses(3, "/hello")).containsExactly(200, 200, 429);
        }
        try (WebApplication application = WebApplication.start(profiles + "---\nspring.profiles.active: generous\n")) {
            assertThat(application.statuses(4, "/hello")).containsExactly(200, 200, 200, 429);
        }
    }

    @Test
    void propertyOfATestOverridesOneValueOfOneLimit() {
        try (WebApplication application = WebApplication.start(
                FILE,
                List.of("reactor-ratelimit.store=local", "reactor-ratelimit.limits.per-client.limit=1 per day"))) {
            assertThat(application.statuses(2, "/hello")).containsExactly(200, 429);
        }
    }

    @Test
    void shadowIsWrittenInYaml() {
        try (WebApplication application = WebApplication.start(FILE + "      shadow: 1 per day\n")) {
            assertThat(application.statuses(3, "/hello")).containsExactly(200, 200, 429);
            assertThat(application
                            .bean(MeterRegistry.class)
                            .get("ratelimit.shadow.decisions")
                            .tags("limiter", "per-client", "outcome", "denied")
                            .counter()
                            .count())
                    .isPositive();
        }
    }

    @Test
    void calendarWindowsAndWarmUpAreWrittenInYaml() {
        RateLimits limits = BoundProperties.limits(BoundProperties.of("""
                reactor-ratelimit.limits:
                  daily: {key: ip, limit: 1000 per day, algorithm: fixed-window, zone: Europe/Berlin}
                  monthly: {key: ip, limit: 20000 per month, algorithm: fixed-window, zone: Europe/Berlin}
                  warming: {key: ip, limit: 100 per second, warm-up: 30s}
                """));

        assertThat(limits.limiter("daily").orElseThrow().policy().toString()).contains("Europe/Berlin");
        assertThat(limits.limiter("monthly").orElseThrow().policy().toString()).contains("Europe/Berlin");
        assertThat(limits.limiter("warming").orElseThrow().policy().toString()).contains("WarmUp");
    }
}
