package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.documentation.Snippet;
import io.github.reactorratelimit.webflux.gateway.GatewayRateLimiter;
import io.github.reactorratelimit.webflux.key.ClientAddress;
import io.github.reactorratelimit.webflux.key.WebKeys;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ReactiveWebApplicationContextRunner;
import org.springframework.boot.webflux.autoconfigure.HttpHandlerAutoConfiguration;
import org.springframework.boot.webflux.autoconfigure.WebFluxAutoConfiguration;
import org.springframework.cloud.gateway.filter.ratelimit.KeyResolver;
import org.springframework.cloud.gateway.filter.ratelimit.RateLimiter;
import org.springframework.cloud.gateway.route.RouteLocator;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;
import reactor.core.publisher.Mono;

/** How a gateway gets our rate limiter, and what is told of mistakes. */
class GatewayConfigurationTest {

    private static final Path DOCS =
            Path.of(System.getProperty("basedir", "")).toAbsolutePath().resolveSibling("docs");

    private static List<String> yamlOf(String guide) throws IOException {
        return Snippet.in(guide, Files.readAllLines(DOCS.resolve(guide))).stream()
                .filter(block -> block.language().equals("yaml"))
                .map(block -> String.join("\n", block.lines()) + "\n")
                .toList();
    }

    private static String route(String... arguments) {
        return GatewayTest.route(1, "orders", arguments);
    }

    private static WebApplication start(String yaml, Class<?> more) {
        return WebApplication.start(yaml, WebApplication.Gateway.class, GatewayTest.Keys.class, more);
    }

    /** The gateway is on the class path, but the application does not want to be one. */
    @Test
    void anApplicationThatExcludesTheGatewaysConfigurationStarts() {
        ReactiveWebApplicationContextRunner withoutGateway = new ReactiveWebApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(
                        HttpHandlerAutoConfiguration.class,
                        WebFluxAutoConfiguration.class,
                        RateLimitAutoConfiguration.class,
                        RateLimitGatewayAutoConfiguration.class));
        for (boolean enabled : new boolean[] {true, false}) {
            withoutGateway
                    .withPropertyValues("reactor-ratelimit.enabled=" + enabled)
                    .run(context ->
                            assertThat(context).as("enabled: " + enabled).hasNotFailed());
        }
    }

    @Test
    void mistakesInRoutesKeepTheApplicationFromStarting() {
        assertThat(failure(route("ratelimit.limit: many")))
                .contains("route 'orders': ratelimit.limit", "'many' is no limit");
        assertThat(failure(route("ratelimit.limit: 3 per day", "ratelimit.algorithm: quantum-bucket")))
                .contains("route 'orders': ratelimit.algorithm", "'quantum-bucket' is none of token-bucket, gcra");
        assertThat(failure(route("ratelimit.limit: 3 per day", "ratelimit.brust: 7")))
                .contains("route 'orders'", "ratelimit.brust");
        assertThat(failure(route("ratelimit.limit: 3", "ratelimit.algorithm: concurrency")))
                .contains("route 'orders': ratelimit.algorithm", "cannot be concurrency");
        assertThat(failure(route("ratelimit.use: nothing"))).contains("names 'nothing'");
        assertThat(failure(route("redis-rate-limiter.replenishRate: 7")))
                .contains("route 'orders'", "reactor-ratelimit.gateway.enabled: false");
    }

    private static final String BY_DEFAULT = """
            spring.cloud.gateway.server.webflux.default-filters:
            - name: RequestRateLimiter
              args: {key-resolver: "#{@byTenant}", ratelimit.limit: %s}
            """;

    @Test
    void aRouteHasOneLimitOfTheGatewaysFilter() {
        String second = """
                    - name: RequestRateLimiter
                      args: {ratelimit.limit: 9 per day}
                """;
        assertThat(failure(route("ratelimit.limit: 3 per day") + second))
                .contains("route 'orders'", "more than one RequestRateLimiter", "reactor-ratelimit.limits with paths");
        assertThat(failure(BY_DEFAULT.formatted("9 per day"), route("ratelimit.limit: 3 per day")))
                .contains("route 'orders'", "more than one RequestRateLimiter");
    }

    @Test
    void aFilterOfAnotherRateLimiterIsNoSecondOne() {
        String second = """
                    - name: RequestRateLimiter
                      args: {rate-limiter: "#{@otherLimiter}"}
                """;
        try (WebApplication gateway =
                start(GatewayTest.gateway("", route("ratelimit.limit: 1 per day") + second), OtherLimiter.class)) {
            HttpResponse<String> denied = gateway.get("/orders", "X-Tenant", "a");
            assertThat(denied.statusCode()).isEqualTo(429);
            assertThat(denied.headers().firstValue("X-Own")).contains("yes");
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class OtherLimiter {

        /** Beside ours, which would give way to it otherwise. */
        @Bean(defaultCandidate = false)
        RateLimiter<Object> otherLimiter() {
            return new OwnLimiter().ownLimiter();
        }
    }

    @Test
    void whatARouteSaysByAnExpressionIsTheGatewaysToFind() {
        try (WebApplication gateway =
                start(GatewayTest.gateway("", route("ratelimit.limit: \"#{'7 per day'}\"")), GatewayTest.Keys.class)) {
            GatewayRateLimiter limiter = gateway.bean(GatewayRateLimiter.class);
            gateway.bean(RouteLocator.class).getRoutes().blockLast();
            assertThat(limiter.isAllowed("orders", "some").block().getHeaders())
                    .containsEntry("RateLimit-Policy", "\"orders\";q=7;w=86400");
        }
    }

    @Test
    void theGatewaysDefaultFiltersLimitEachRoute() {
        assertThat(failure(BY_DEFAULT.formatted("many"), unlimited("orders")))
                .contains("route 'orders': ratelimit.limit", "'many' is no limit");
        try (WebApplication gateway = start(
                GatewayTest.gateway(BY_DEFAULT.formatted("1 per day"), unlimited("orders"), unlimited("bills")),
                GatewayTest.Keys.class)) {
            GatewayRateLimiter limiter = gateway.bean(GatewayRateLimiter.class);
            for (String route : List.of("orders", "bills")) {
                assertThat(limiter.isAllowed(route, "some").block().isAllowed()).isTrue();
                assertThat(limiter.isAllowed(route, "some").block().isAllowed()).isFalse();
            }
        }
    }

    private static String unlimited(String id) {
        return "- {id: " + id + ", uri: 'http://127.0.0.1:1', predicates: ['Path=/" + id + "/**']}\n";
    }

    private static String failure(String route) {
        return failure("", route);
    }

    private static String failure(String before, String route) {
        FailureAnalysis analysis = WebApplication.failure(
                GatewayTest.gateway(before, route), WebApplication.Gateway.class, GatewayTest.Keys.class);
        return analysis.getDescription() + analysis.getAction();
    }

    @Configuration(proxyBeanMethods = false)
    static class OwnLimiter {

        @Bean
        RateLimiter<Object> ownLimiter() {
            return new RateLimiter<>() {
                @Override
                public Mono<Response> isAllowed(String routeId, String id) {
                    return Mono.just(new Response(false, Map.of("X-Own", "yes")));
                }

                @Override
                public Map<String, Object> getConfig() {
                    return Map.of();
                }

                @Override
                public Class<Object> getConfigClass() {
                    return Object.class;
                }

                @Override
                public Object newConfig() {
                    return new Object();
                }
            };
        }
    }

    @Test
    void aRateLimiterOfTheApplicationReplacesOurs() {
        try (WebApplication gateway = WebApplication.start(
                GatewayTest.gateway("", route()),
                WebApplication.Gateway.class,
                GatewayTest.Keys.class,
                OwnLimiter.class)) {
            assertThat(gateway.get("/orders", "X-Tenant", "a").headers().firstValue("X-Own"))
                    .contains("yes");
            assertThat(gateway.context().getBeanNamesForType(GatewayRateLimiter.class))
                    .isEmpty();
        }
    }

    @Test
    void itCanBeTurnedOffAlone() {
        try (WebApplication gateway = start("reactor-ratelimit.gateway.enabled: false\n", GatewayTest.Keys.class)) {
            assertThat(gateway.context().getBeanNamesForType(GatewayRateLimiter.class))
                    .isEmpty();
            assertThat(gateway.context().getBeanNamesForType(RateLimits.class)).isNotEmpty();
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class GuidesKeys {

        @Bean
        @Primary
        KeyResolver perClient(ClientAddress address) {
            return WebKeys.clientAddress(address)::resolve;
        }
    }

    @Test
    void theRoutesOfTheGuideAreLimitedAsItSays() throws IOException {
        List<String> blocks = yamlOf("webflux-gateway.md");
        assertThat(blocks).hasSize(1);
        try (WebApplication gateway =
                WebApplication.start(blocks.get(0), WebApplication.Gateway.class, GuidesKeys.class)) {
            GatewayRateLimiter limiter = gateway.bean(GatewayRateLimiter.class);
            assertThat(limiter.isAllowed("orders", "some").block().getHeaders())
                    .containsEntry("RateLimit-Policy", "\"orders\";q=20;w=12");
            assertThat(limiter.isAllowed("reports", "some").block().getHeaders())
                    .containsEntry("RateLimit-Policy", "\"plan\";q=1000;w=3600");
        }
    }

    @Test
    void theFilterOfTheGuideToMigrationLimitsAsTheOneBefore() throws IOException {
        List<String> blocks = yamlOf("migration.md");
        assertThat(blocks).hasSize(2);
        String before = GatewayTest.gateway("", routeToOrders() + blocks.get(0).indent(2));
        String after = GatewayTest.gateway("", routeToOrders() + blocks.get(1).indent(2));

        assertThat(WebApplication.failure(before, WebApplication.Gateway.class, GuidesKeys.class)
                        .getDescription())
                .contains("route 'orders'", "says nothing about its limit", "reactor-ratelimit.gateway.enabled: false");
        try (WebApplication gateway = WebApplication.start(after, WebApplication.Gateway.class, GuidesKeys.class)) {
            assertThat(gateway.bean(GatewayRateLimiter.class)
                            .isAllowed("orders", "some")
                            .block()
                            .getHeaders())
                    .containsEntry("RateLimit-Policy", "\"orders\";q=20;w=2");
        }
    }

    private static String routeToOrders() {
        return """
                - id: orders
                  uri: http://127.0.0.1:1
                  predicates: ["Path=/orders/**"]
                """;
    }

    @Test
    void applicationsWithoutTheGatewayDoNotNeedIt() {
        new ReactiveWebApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(
                        HttpHandlerAutoConfiguration.class,
                        WebFluxAutoConfiguration.class,
                        RateLimitAutoConfiguration.class,
                        RateLimitGatewayAutoConfiguration.class))
                .withClassLoader(new FilteredClassLoader("org.springframework.cloud.gateway"))
                .run(context -> assertThat(context).hasNotFailed().hasSingleBean(RateLimits.class));
    }
}
