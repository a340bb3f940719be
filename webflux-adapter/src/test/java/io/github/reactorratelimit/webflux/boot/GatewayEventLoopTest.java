package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.testing.redis.Standalone;
import io.github.reactorratelimit.webflux.gateway.GatewayRateLimiter;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.cloud.gateway.filter.GatewayFilterChain;
import org.springframework.cloud.gateway.filter.GlobalFilter;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.http.server.reactive.ServerHttpRequestDecorator;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import reactor.core.publisher.Mono;
import reactor.netty.Connection;

/** Requests of a gateway whose limits are in Redis go on on the event loop of their connection, whoever answers elsewhere. */
class GatewayEventLoopTest {

    /** True if on the event loop of the connection. */
    private static final List<Boolean> PASSED = new CopyOnWriteArrayList<>();

    private static final List<Boolean> COMMITTED = new CopyOnWriteArrayList<>();

    private final Standalone redis = Standalone.start();

    @BeforeEach
    void clear() {
        PASSED.clear();
        COMMITTED.clear();
    }

    @AfterEach
    void end() {
        redis.close();
    }

    private static boolean isOnOwnThread(ServerWebExchange exchange) {
        Connection connection = ServerHttpRequestDecorator.getNativeRequest(exchange.getRequest());
        return connection.channel().eventLoop().inEventLoop();
    }

    /** Behind the limiter, in place of a server that is asked. */
    private static final class Answering implements GlobalFilter, Ordered {

        @Override
        public Mono<Void> filter(ServerWebExchange exchange, GatewayFilterChain chain) {
            PASSED.add(isOnOwnThread(exchange));
            return exchange.getResponse().setComplete();
        }

        @Override
        public int getOrder() {
            return 1_000;
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class Noting {

        @Bean
        GlobalFilter answering() {
            return new Answering();
        }

        @Bean
        WebFilter noting() {
            return (exchange, chain) -> {
                exchange.getResponse()
                        .beforeCommit(() -> Mono.fromRunnable(() -> COMMITTED.add(isOnOwnThread(exchange))));
                return chain.filter(exchange);
            };
        }
    }

    private WebApplication start() {
        String server = "reactor-ratelimit.redis: {deadline: 30s, uri: 'redis://127.0.0.1:"
                + redis.uri().getPort() + "'}\n";
        String route = GatewayTest.route(1, "orders", "ratelimit.limit: 1 per day");
        return WebApplication.start(
                        GatewayTest.gateway(server, route),
                        WebApplication.Gateway.class,
                        GatewayTest.Keys.class,
                        Noting.class)
                .connected();
    }

    @Test
    void aRequestThatRedisAllowsPassesOnTheThreadOfItsConnection() {
        try (WebApplication gateway = start()) {
            assertThat(gateway.get("/orders", "X-Tenant", "a").statusCode()).isEqualTo(200);

            assertThat(PASSED).containsExactly(true);
            assertThat(COMMITTED).containsExactly(true);
        }
    }

    @Test
    void aRequestThatRedisDeniesIsAnsweredOnTheThreadOfItsConnection() {
        try (WebApplication gateway = start()) {
            gateway.bean(GatewayRateLimiter.class).isAllowed("orders", "b").block(Duration.ofMinutes(2));

            assertThat(gateway.get("/orders", "X-Tenant", "b").statusCode()).isEqualTo(429);

            assertThat(PASSED).isEmpty();
            assertThat(COMMITTED).containsExactly(true);
        }
    }
}
