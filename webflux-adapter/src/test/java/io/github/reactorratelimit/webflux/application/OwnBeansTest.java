package io.github.reactorratelimit.webflux.application;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.webflux.DenialCors;
import io.github.reactorratelimit.webflux.RateLimitDeniedHandler;
import io.github.reactorratelimit.webflux.RateLimitEngine;
import io.github.reactorratelimit.webflux.RateLimitRule;
import io.github.reactorratelimit.webflux.RateLimitWebFilter;
import io.github.reactorratelimit.webflux.RateLimited;
import io.github.reactorratelimit.webflux.RateLimitedHandlerAdapter;
import io.github.reactorratelimit.webflux.boot.LimitRecorders;
import io.github.reactorratelimit.webflux.boot.WebApplication;
import io.github.reactorratelimit.webflux.gateway.GatewayRateLimiter;
import io.github.reactorratelimit.webflux.key.ClientAddress;
import io.github.reactorratelimit.webflux.key.TrustedProxies;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.ReactiveHealthIndicator;
import org.springframework.cloud.context.environment.EnvironmentChangeEvent;
import org.springframework.cloud.gateway.filter.ratelimit.KeyResolver;
import org.springframework.cloud.gateway.support.ConfigurationService;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.GenericApplicationListener;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.filter.reactive.ServerWebExchangeContextFilter;
import org.springframework.web.reactive.result.method.annotation.RequestMappingHandlerAdapter;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilterChain;
import reactor.core.publisher.Mono;

/** Beans that an application writes itself, in a package of its own, do the work of ours. */
class OwnBeansTest {

    private static final String LIMITED = """
            reactor-ratelimit.limits.per-client: {key: ip, limit: 2 per day}
            management:
              endpoints.web.exposure.include: health,ratelimits
              endpoint.health.show-details: always
            """;

    private static final AtomicInteger COUNTED = new AtomicInteger();

    /** Not beside ours, whichever of them would do the work. */
    private static void assertAlone(WebApplication application, Class<?>... types) {
        for (Class<?> type : types) {
            assertThat(application.context().getBeanNamesForType(type))
                    .as(type.getSimpleName())
                    .hasSize(1);
        }
    }

    private static FixedWindow perDay(long permits) {
        return FixedWindow.of(permits, Duration.ofDays(1));
    }

    @Configuration(proxyBeanMethods = false)
    static class Around {

        @Bean
        ClientAddress behindOneProxy() {
            return ClientAddress.fromXForwardedFor(TrustedProxies.hops(1));
        }

        @Bean
        DenialCors cors() {
            return exchange ->
                    Mono.fromRunnable(() -> exchange.getResponse().getHeaders().add("X-Cors", "own"));
        }

        @Bean
        RateLimitDeniedHandler denied() {
            return (exchange, denial) -> {
                exchange.getResponse().getHeaders().add("X-Denied", "own");
                return exchange.getResponse().setComplete();
            };
        }

        @Bean
        LimitRecorders ownRecorders() {
            return name -> new RateLimitRecorder() {
                @Override
                public void decided(boolean allowed, long permits) {
                    COUNTED.incrementAndGet();
                }
            };
        }

        @Bean
        Predicate<ServerWebExchange> rateLimitManagementRequests() {
            return exchange -> exchange.getRequest().getPath().value().startsWith("/probe");
        }
    }

    @Test
    void whatSurroundsADecisionIsTheApplications() {
        COUNTED.set(0);
        try (WebApplication application = WebApplication.start(LIMITED, Around.class)) {
            assertAlone(
                    application,
                    ClientAddress.class,
                    DenialCors.class,
                    RateLimitDeniedHandler.class,
                    LimitRecorders.class);
            assertThat(application.statuses(3, "/hello", "X-Forwarded-For", "192.0.2.1"))
                    .containsExactly(200, 200, 429);
            HttpResponse<String> other = application.get("/hello", "X-Forwarded-For", "192.0.2.2");
            assertThat(other.statusCode()).as("address").isEqualTo(200);

            HttpResponse<String> denied =
                    application.get("/hello", "X-Forwarded-For", "192.0.2.1", "Origin", "https://other.example");
            assertThat(denied.headers().firstValue("X-Cors")).contains("own");
            assertThat(denied.headers().firstValue("X-Denied")).contains("own");
            assertThat(COUNTED).hasValue(5);

            assertThat(application.statuses(3, "/probe", "X-Forwarded-For", "192.0.2.1"))
                    .containsExactly(404, 404, 404);
            assertThat(COUNTED).hasValue(5);
        }
    }

    @Endpoint(id = "ratelimits")
    static class OwnEndpoint {

        @ReadOperation
        Map<String, String> read() {
            return Map.of("shown-by", "own");
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class Watching {

        @Bean
        OwnEndpoint rateLimitsEndpoint() {
            return new OwnEndpoint();
        }

        @Bean
        ReactiveHealthIndicator rateLimitsHealthIndicator() {
            return () -> Mono.just(Health.up().withDetail("seen-by", "own").build());
        }

        @Bean
        GenericApplicationListener rateLimitEnvironmentListener() {
            return GenericApplicationListener.forEventType(
                    EnvironmentChangeEvent.class, event -> COUNTED.incrementAndGet());
        }
    }

    @Test
    void whatWatchesLimitsIsTheApplications() {
        COUNTED.set(0);
        try (WebApplication application = WebApplication.start(LIMITED, Watching.class)) {
            assertThat(application.get("/actuator/ratelimits").body()).isEqualTo("{\"shown-by\":\"own\"}");
            assertThat(application.get("/actuator/health").body())
                    .contains("\"rateLimits\":{\"details\":{\"seen-by\":\"own\"}");

            application.rewrite(LIMITED.replace("2 per day", "3 per day"));
            application.context().publishEvent(new EnvironmentChangeEvent(application.context(), Set.of("some")));
            assertThat(COUNTED).hasValue(1);
            assertThat(application.statuses(3, "/hello")).containsExactly(200, 200, 429);
        }
    }

    @RestController
    static class Annotated {

        @GetMapping("/annotated")
        @RateLimited("own")
        Mono<String> annotated() {
            return Mono.just("annotated");
        }
    }

    /** Its engine leaves out the limit of the configuration, which our check refuses. */
    @Configuration(proxyBeanMethods = false)
    static class Engine {

        @Bean
        Annotated annotated() {
            return new Annotated();
        }

        @Bean
        RateLimitEngine engine() {
            return RateLimitEngine.builder()
                    .rule(RateLimitRule.named("all")
                            .path("/hello")
                            .globalKey()
                            .policy(perDay(1))
                            .build())
                    .rule(RateLimitRule.named("own")
                            .explicitOnly()
                            .globalKey()
                            .policy(perDay(1))
                            .build())
                    .build();
        }

        @Bean
        RateLimitWebFilter rateLimitWebFilter(RateLimitEngine engine) {
            return RateLimitWebFilter.of(engine).withOrder(-300);
        }

        @Bean
        RateLimitWebFilter rateLimitAfterAuthenticationWebFilter(RateLimitEngine engine) {
            return RateLimitWebFilter.afterAuthentication(engine).withOrder(-80);
        }

        @Bean
        RateLimitedHandlerAdapter annotations(
                RateLimitEngine engine, ObjectProvider<RequestMappingHandlerAdapter> controllers) {
            return new RateLimitedHandlerAdapter(engine, () -> {
                COUNTED.incrementAndGet();
                return controllers.getObject();
            });
        }

        @Bean
        SmartInitializingSingleton rateLimitChecks() {
            return COUNTED::incrementAndGet;
        }
    }

    @Test
    void whatDecidesIsTheApplications() {
        COUNTED.set(0);
        try (WebApplication application = WebApplication.start(LIMITED, Engine.class)) {
            assertAlone(application, RateLimitEngine.class, RateLimitedHandlerAdapter.class);
            assertThat(COUNTED).as("checked").hasValue(1);
            assertThat(application.statuses(2, "/hello")).containsExactly(200, 429);
            assertThat(application.statuses(2, "/annotated")).containsExactly(200, 429);
            assertThat(COUNTED).as("adapter").hasValue(2);
            assertThat(application
                            .context()
                            .getBeansOfType(RateLimitWebFilter.class)
                            .values())
                    .extracting(RateLimitWebFilter::getOrder)
                    .containsExactlyInAnyOrder(-300, -80);
        }
    }

    /** A route that our own rules refuse, and our check with them. */
    private static final String ROUTE = """
            spring.cloud.gateway.server.webflux.routes:
            - id: orders
              uri: http://127.0.0.1:1
              predicates: ["Path=/orders/**"]
              filters:
                - name: RequestRateLimiter
                  args: {key-resolver: "#{@oneKey}", ratelimit.limit: many}
            """;

    @Configuration(proxyBeanMethods = false)
    static class Routes {

        @Bean
        KeyResolver oneKey() {
            return exchange -> Mono.just("one");
        }

        @Bean
        GatewayRateLimiter limiterOfRoutes(RateLimitEngine engine, ConfigurationService arguments) {
            RateLimitRule rule = RateLimitRule.named("of-the-application")
                    .globalKey()
                    .policy(perDay(7))
                    .build();
            return new GatewayRateLimiter(engine, (routeId, config) -> rule, arguments);
        }

        @Bean
        ServerWebExchangeContextFilter exchangeInContext() {
            return new ServerWebExchangeContextFilter() {
                @Override
                public Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
                    COUNTED.incrementAndGet();
                    return super.filter(exchange, chain);
                }
            };
        }

        @Bean
        SmartInitializingSingleton gatewayRateLimiterCheck() {
            return COUNTED::incrementAndGet;
        }
    }

    @Test
    void whatLimitsRoutesIsTheApplications() {
        COUNTED.set(0);
        try (WebApplication gateway = WebApplication.start(ROUTE, WebApplication.Gateway.class, Routes.class)) {
            assertAlone(gateway, GatewayRateLimiter.class, ServerWebExchangeContextFilter.class);
            assertThat(COUNTED).as("checked").hasValue(1);
            HttpResponse<String> response = gateway.get("/orders/1");
            assertThat(response.headers().allValues("RateLimit-Policy"))
                    .isEqualTo(List.of("\"of-the-application\";q=7;w=86400"));
            assertThat(COUNTED).as("filtered once").hasValue(2);
        }
    }
}
