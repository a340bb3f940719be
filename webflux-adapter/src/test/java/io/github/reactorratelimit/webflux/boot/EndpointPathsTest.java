package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.util.Optional;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.http.HttpMethod;
import org.springframework.mock.env.MockEnvironment;
import org.springframework.mock.http.server.reactive.MockServerHttpRequest;
import org.springframework.mock.web.server.MockServerWebExchange;
import org.springframework.web.server.ServerWebExchange;

/** Limits without paths leave the Actuator alone, and nothing that is not the Actuator's. */
class EndpointPathsTest {

    private static final String ONE = "ratelimit.limits: [{name: some, key: all, limit: 1 per day}]\n";

    private static boolean isExempt(String base, String path) {
        MockEnvironment environment = new MockEnvironment();
        if (!base.isEmpty()) {
            environment.setProperty("management.endpoints.web.base-path", base);
        }
        Optional<Predicate<ServerWebExchange>> endpoints = EndpointPaths.of(environment);
        return endpoints
                .map(is -> is.test(
                        MockServerWebExchange.from(MockServerHttpRequest.method(HttpMethod.GET, URI.create(path)))))
                .orElse(false);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"/actuator", "/actuator/", "/actuator/health", "/actuator/health/liveness", "/actuator/env/a.b"})
    void endpointsAreExempt(String path) {
        assertThat(isExempt("", path)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/",
                "/actuators",
                "/actuator.json",
                "/ACTUATOR/health",
                "/api/actuator/health",
                "//actuator/health",
                "/actuator//health",
                "/actuator/../api",
                "/actuator/./health",
                "/actuator/..;x=1/api",
                "/actuator/%2e%2e/api",
                "/actuator/%2E./api",
                "/actuator/..%2fapi",
                "/%61ctuator/health",
                "/actuator;x=1/../api"
            })
    void whateverMayBeReadAsAnotherPathIsNot(String path) {
        assertThat(isExempt("", path)).isFalse();
    }

    @Test
    void theBasePathIsTheApplications() {
        assertThat(isExempt("/manage", "/manage/health")).isTrue();
        assertThat(isExempt("manage/", "/manage/health")).isTrue();
        assertThat(isExempt("/manage", "/actuator/health")).isFalse();
        assertThat(isExempt("/", "/health")).isFalse();
        assertThat(isExempt("/", "/hello")).isFalse();
    }

    @Test
    void aLimitWithoutPathsIsNotForThem() {
        try (WebApplication application = WebApplication.start(ONE)) {
            assertThat(application.statuses(3, "/actuator/health")).containsOnly(200);
            assertThat(application.statuses(2, "/hello")).containsExactly(200, 429);
            assertThat(application.statuses(3, "/actuator/health")).containsOnly(200);
            assertThat(application.get("/actuator/../hello").statusCode()).isEqualTo(429);
        }
    }

    @Test
    void itIsIfToldSo() {
        try (WebApplication application = WebApplication.start(ONE + "ratelimit.actuator.limited: true\n")) {
            assertThat(application.statuses(2, "/actuator/health")).containsExactly(200, 429);
        }
    }

    @Test
    void aLimitWithPathsIsForWhatItsPathsSay() {
        try (WebApplication application = WebApplication.start(ONE.replace("key:", "paths: /**, key:"))) {
            assertThat(application.statuses(2, "/actuator/health")).containsExactly(200, 429);
        }
    }
}
