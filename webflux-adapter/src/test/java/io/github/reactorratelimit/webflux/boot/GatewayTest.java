package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.github.reactorratelimit.webflux.gateway.GatewayRateLimiter;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.greenbytes.http.sfv.Parser;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.cloud.gateway.event.RefreshRoutesEvent;
import org.springframework.cloud.gateway.filter.FilterDefinition;
import org.springframework.cloud.gateway.filter.ratelimit.KeyResolver;
import org.springframework.cloud.gateway.filter.ratelimit.RedisRateLimiter;
import org.springframework.cloud.gateway.route.RouteDefinition;
import org.springframework.cloud.gateway.route.RouteDefinitionWriter;
import org.springframework.cloud.gateway.route.RouteLocator;
import org.springframework.cloud.gateway.route.builder.RouteLocatorBuilder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;
import reactor.netty.resources.LoopResources;

/** A real gateway on a real port, in front of a real server. */
class GatewayTest {

    private final AtomicInteger arrived = new AtomicInteger();

    /** Applications that end take the common ones with them. */
    private final LoopResources loops = LoopResources.create("behind", 1, true);

    private DisposableServer behind;

    @BeforeEach
    void start() {
        behind = HttpServer.create()
                .runOn(loops)
                .host("127.0.0.1")
                .port(0)
                .handle((request, response) -> {
                    arrived.incrementAndGet();
                    return response.keepAlive(false).sendString(Mono.just("from " + request.path()));
                })
                .bindNow();
    }

    @AfterEach
    void end() {
        behind.disposeNow(Duration.ofMinutes(1));
        loops.dispose();
    }

    @Configuration(proxyBeanMethods = false)
    static class Keys {

        @Bean
        @Primary
        KeyResolver byTenant() {
            return exchange ->
                    Mono.justOrEmpty(exchange.getRequest().getHeaders().getFirst("X-Tenant"));
        }
    }

    private String route(String id, String... arguments) {
        return route(behind.port(), id, arguments);
    }

    static String route(int port, String id, String... arguments) {
        StringBuilder yaml = new StringBuilder("""
                - id: %s
                  uri: http://127.0.0.1:%d
                  predicates: ["Path=/%s/**"]
                  filters:
                    - name: RequestRateLimiter
                      args:
                        key-resolver: "#{@byTenant}"
                """.formatted(id, port, id));
        for (String argument : arguments) {
            yaml.append("        ").append(argument).append('\n');
        }
        return yaml.toString();
    }

    static String gateway(String limits, String... routes) {
        return limits + "spring.cloud.gateway.server.webflux.routes:\n" + String.join("", routes);
    }

    private static WebApplication start(String yaml) {
        return WebApplication.start(yaml, WebApplication.Gateway.class, Keys.class);
    }

    private static List<Integer> statuses(WebApplication gateway, int requests, String path, String tenant) {
        return gateway.statuses(requests, path, "X-Tenant", tenant);
    }

    private static List<Integer> allowedThenDenied(int allowed, int denied) {
        List<Integer> expected = new ArrayList<>(Collections.nCopies(allowed, 200));
        expected.addAll(Collections.nCopies(denied, 429));
        return expected;
    }

    @Test
    void aRouteHasNumbersOfItsOwnForEachKey() throws Exception {
        try (WebApplication gateway = start(gateway("", route("orders", "ratelimit.limit: 3 per day")))) {
            assertThat(statuses(gateway, 5, "/orders/1", "a")).isEqualTo(allowedThenDenied(3, 2));
            assertThat(arrived).hasValue(3);
            HttpResponse<String> other = gateway.get("/orders/1", "X-Tenant", "b");
            assertThat(other.body()).isEqualTo("from orders/1");
            assertThat(other.headers().firstValue("RateLimit-Policy")).contains("\"orders\";q=3;w=86400");

            HttpResponse<String> denied = gateway.get("/orders/1", "X-Tenant", "a");
            String state = denied.headers().firstValue("RateLimit").orElseThrow();
            assertThat(new Parser(state).parseList().get().get(0).get()).isEqualTo("orders");
            assertThat(denied.headers().firstValueAsLong("Retry-After").orElseThrow())
                    .isPositive();
            assertThat(denied.headers().firstValue("Cache-Control")).contains("no-store");
        }
    }

    @Test
    void routesThatNameALimitShareIt() {
        String limits = "reactor-ratelimit.limits: {plan: {key: all, limit: 4 per day, explicit-only: true}}\n";
        try (WebApplication gateway =
                start(gateway(limits, route("one", "ratelimit.use: plan"), route("other", "ratelimit.use: plan")))) {
            assertThat(statuses(gateway, 3, "/one", "a")).isEqualTo(allowedThenDenied(3, 0));
            assertThat(statuses(gateway, 3, "/other", "a")).isEqualTo(allowedThenDenied(1, 2));
            assertThat(statuses(gateway, 1, "/other", "b")).containsExactly(200);
        }
    }

    @Test
    void aRouteThatSaysNothingHasTheLimitOfItsName() {
        String limits = "reactor-ratelimit.limits: {plain: {key: all, limit: 1 per day, explicit-only: true}}\n";
        try (WebApplication gateway = start(gateway(limits, route("plain")))) {
            assertThat(statuses(gateway, 2, "/plain", "a")).isEqualTo(allowedThenDenied(1, 1));
        }
    }

    @Test
    void requestsWithoutAKeyAreTheGatewaysAndEmptyKeysAreForbidden() {
        try (WebApplication gateway = start(gateway("", route("orders", "ratelimit.limit: 3 per day")))) {
            assertThat(gateway.get("/orders").statusCode()).isEqualTo(403);
            assertThat(statuses(gateway, 4, "/orders", "")).containsOnly(403);
            assertThat(arrived).hasValue(0);
        }
    }

    @Test
    void aRouteThatChangesKeepsWhatWasSpent() {
        try (WebApplication gateway = start(gateway("", route("orders", "ratelimit.limit: 10 per day")))) {
            assertThat(statuses(gateway, 4, "/orders", "a")).containsOnly(200);
            GatewayRateLimiter limiter = gateway.bean(GatewayRateLimiter.class);
            GatewayRateLimiter.Config changed = new GatewayRateLimiter.Config();
            changed.setLimit("6 per day");
            limiter.getConfig().put("orders", changed);
            assertThat(statuses(gateway, 4, "/orders", "a")).isEqualTo(allowedThenDenied(2, 2));
        }
    }

    @Test
    void routesThatComeLaterAreLimited() {
        try (WebApplication gateway = start(gateway("", route("orders", "ratelimit.limit: 10 per day")))) {
            RouteDefinition late = new RouteDefinition("late=http://127.0.0.1:" + behind.port() + ",Path=/late/**");
            FilterDefinition limited = new FilterDefinition("RequestRateLimiter");
            limited.addArg("ratelimit.limit", "2 per day");
            late.getFilters().add(limited);
            gateway.bean(RouteDefinitionWriter.class).save(Mono.just(late)).block();
            gateway.context().publishEvent(new RefreshRoutesEvent(this));
            Await.until(
                    "it is there",
                    () -> gateway.bean(RouteLocator.class)
                                    .getRoutes()
                                    .filter(route -> route.getId().equals("late"))
                                    .blockFirst()
                            != null);
            assertThat(statuses(gateway, 3, "/late", "a")).isEqualTo(allowedThenDenied(2, 1));
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class JavaRoutes {

        @Bean
        RouteLocator routes(RouteLocatorBuilder routes, KeyResolver keys) {
            return routes.routes()
                    .route(
                            "java",
                            route -> route.path("/java/**")
                                    .filters(filters -> filters.requestRateLimiter()
                                            .rateLimiter(
                                                    GatewayRateLimiter.class, config -> config.setLimit("1 per day"))
                                            .configure(limited -> limited.setKeyResolver(keys)))
                                    .uri("http://127.0.0.1:" + System.getProperty("gateway.test.port")))
                    .build();
        }
    }

    @Test
    void routesInJavaAreLimited() {
        System.setProperty("gateway.test.port", Integer.toString(behind.port()));
        try (WebApplication gateway =
                WebApplication.start("", WebApplication.Gateway.class, Keys.class, JavaRoutes.class)) {
            assertThat(statuses(gateway, 2, "/java", "a")).isEqualTo(allowedThenDenied(1, 1));
        } finally {
            System.clearProperty("gateway.test.port");
        }
    }

    @Test
    void twoGatewaysShareALimitInRedisWhichFailsAsTheRouteSays() {
        try (Standalone redis = Standalone.start()) {
            String uri = "reactor-ratelimit.redis: {deadline: 30s, uri: 'redis://127.0.0.1:"
                    + redis.uri().getPort() + "'}\n";
            String yaml = gateway(
                    uri,
                    route("shut", "ratelimit.limit: 5 per day", "ratelimit.when-unavailable: closed"),
                    route("open", "ratelimit.limit: 5 per day", "ratelimit.when-unavailable: open"));
            try (WebApplication one = start(yaml).connected();
                    WebApplication other = start(yaml).connected()) {
                List<Integer> statuses = new ArrayList<>();
                for (int i = 0; i < 8; i++) {
                    statuses.addAll(statuses(i % 2 == 0 ? one : other, 1, "/shut", "a"));
                }
                assertThat(statuses).isEqualTo(allowedThenDenied(5, 3));
                redis.server().kill();
                Await.until(
                        "its absence is noticed",
                        () -> one.get("/shut", "X-Tenant", "b").statusCode() == 503);
                // Of a key that was denied before, the denial is remembered for a second.
                assertThat(statuses(one, 5, "/shut", "b")).containsOnly(503);
                assertThat(statuses(one, 10, "/open", "a")).containsOnly(200);
            }
        }
    }

    @Test
    void oursIsAskedThoughTheGatewayHasAnotherForRedis() {
        try (Standalone redis = Standalone.start()) {
            List<String> server = List.of(
                    "spring.data.redis.host=127.0.0.1",
                    "spring.data.redis.port=" + redis.uri().getPort());
            String yaml =
                    gateway("reactor-ratelimit.redis.deadline: 30s\n", route("orders", "ratelimit.limit: 2 per day"));
            try (WebApplication gateway =
                    WebApplication.start(yaml, server, WebApplication.Gateway.class, Keys.class)) {
                assertThat(gateway.context().getBeanNamesForType(RedisRateLimiter.class))
                        .isNotEmpty();
                gateway.connected();
                assertThat(statuses(gateway, 3, "/orders", "a")).isEqualTo(allowedThenDenied(2, 1));
            }
        }
    }
}
