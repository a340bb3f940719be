package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.webflux.gateway.GatewayRateLimiter;
import java.net.http.HttpHeaders;
import java.net.http.HttpResponse;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.cloud.gateway.filter.ratelimit.KeyResolver;
import org.springframework.cloud.gateway.route.RouteLocator;
import org.springframework.cloud.gateway.route.builder.RouteLocatorBuilder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;
import reactor.netty.resources.LoopResources;

/** A gateway whose requests are limited by the filter of this library and by that of their route, or by neither. */
class GatewayBesideFilterTest {

    private final LoopResources loops = LoopResources.create("behind", 1, true);

    private DisposableServer behind;

    @BeforeEach
    void start() {
        behind = HttpServer.create()
                .runOn(loops)
                .host("127.0.0.1")
                .port(0)
                .handle((request, response) -> response.keepAlive(false).sendString(Mono.just("behind")))
                .bindNow();
    }

    @AfterEach
    void end() {
        behind.disposeNow(Duration.ofMinutes(1));
        loops.dispose();
    }

    private WebApplication start(String limits, String... arguments) {
        return WebApplication.start(
                GatewayTest.gateway(limits, GatewayTest.route(behind.port(), "orders", arguments)),
                WebApplication.Gateway.class,
                GatewayConfigurationTest.GuidesKeys.class,
                ByTenant.class);
    }

    /** The name that the routes of the tests know. */
    @Configuration(proxyBeanMethods = false)
    static class ByTenant {

        @Bean
        KeyResolver byTenant() {
            return new GatewayTest.Keys().byTenant();
        }
    }

    @Test
    void whatARouteDeniesCostsNothingInTheFiltersLimits() {
        String limits = "reactor-ratelimit.limits: {per-client: {key: ip, limit: 10 per day}}\n";
        try (WebApplication gateway = start(limits, "ratelimit.limit: 1 per day")) {
            assertThat(gateway.statuses(6, "/orders", "X-Tenant", "a")).containsExactly(200, 429, 429, 429, 429, 429);
            assertThat(gateway.get("/hello").headers().firstValue("RateLimit").orElseThrow())
                    .as("two passed, five were denied by the route")
                    .startsWith("\"per-client\";r=8;");
        }
    }

    @Test
    void theFieldsOfFilterAndRouteAreToldOnce() {
        String limits = """
                reactor-ratelimit.limits: {per-client: {key: ip, limit: 10 per day}}
                reactor-ratelimit.headers.legacy: delta-seconds
                """;
        try (WebApplication gateway = start(limits, "ratelimit.limit: 1 per day")) {
            for (int status : new int[] {200, 429}) {
                HttpResponse<String> answer = gateway.get("/orders", "X-Tenant", "a");
                assertThat(answer.statusCode()).isEqualTo(status);
                HttpHeaders told = answer.headers();
                assertThat(told.allValues("X-RateLimit-Limit")).containsExactly("1");
                assertThat(told.allValues("X-RateLimit-Remaining")).containsExactly("0");
                assertThat(told.allValues("RateLimit-Policy"))
                        .containsExactly("\"per-client\";q=10;w=86400, \"orders\";q=1;w=86400");
                assertThat(told.allValues("RateLimit"))
                        .singleElement()
                        .asString()
                        .startsWith("\"orders\";r=0;");
            }
        }
    }

    @Test
    void aLimitThatFilterAndRouteApplyCountsARequestOnceAndThatIsToldAtTheStart() {
        String limits = "reactor-ratelimit.limits: {plan: {key: ip, limit: 4 per day}}\n";
        try (ConsoleLines output = ConsoleLines.read();
                WebApplication gateway = start(limits, "ratelimit.use: plan")) {
            assertThat(gateway.statuses(5, "/orders", "X-Tenant", "a")).containsExactly(200, 200, 200, 200, 429);
            assertThat(output.text()).contains("Route 'orders' names the limit 'plan'", "explicit-only");
        }
    }

    @Test
    void aLimitOfRoutesAloneIsNoReasonForAWarning() {
        String limits = "reactor-ratelimit.limits: {plan: {key: ip, limit: 4 per day, explicit-only: true}}\n";
        try (ConsoleLines output = ConsoleLines.read();
                WebApplication gateway = start(limits, "ratelimit.use: plan")) {
            assertThat(gateway.get("/orders", "X-Tenant", "a").statusCode()).isEqualTo(200);
            assertThat(output.text()).doesNotContain("explicit-only");
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class JavaRoute {

        @Bean
        RouteLocator java(RouteLocatorBuilder routes) {
            return routes.routes()
                    .route(
                            "java",
                            route -> route.path("/java/**")
                                    .filters(filters -> filters.requestRateLimiter()
                                            .rateLimiter(
                                                    GatewayRateLimiter.class, config -> config.setLimit("1 per day"))
                                            .configure(limited -> {}))
                                    .uri("http://127.0.0.1:1"))
                    .build();
        }
    }

    @Test
    void aGatewayGoesOnWithLimitsTurnedOff() {
        String yaml = GatewayTest.gateway(
                "reactor-ratelimit.enabled: false\n",
                GatewayTest.route(behind.port(), "orders", "ratelimit.limit: 1 per day"));
        try (WebApplication gateway = WebApplication.start(
                yaml,
                WebApplication.Gateway.class,
                GatewayConfigurationTest.GuidesKeys.class,
                ByTenant.class,
                JavaRoute.class)) {
            assertThat(gateway.statuses(3, "/orders", "X-Tenant", "a")).containsOnly(200);
            assertThat(gateway.get("/java").statusCode())
                    .as("nobody is behind it")
                    .isEqualTo(500);
        }
    }
}
