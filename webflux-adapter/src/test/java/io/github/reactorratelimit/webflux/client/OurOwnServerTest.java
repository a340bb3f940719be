package io.github.reactorratelimit.webflux.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.webflux.RateLimitEngine;
import io.github.reactorratelimit.webflux.RateLimitRule;
import io.github.reactorratelimit.webflux.RateLimitWebFilter;
import io.github.reactorratelimit.webflux.testing.TestServer;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Flux;

/** What our filter tells clients, and what our client makes of it. */
class OurOwnServerTest {

    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private final TestServer server = TestServer.start(context -> {
        RateLimitEngine engine = RateLimitEngine.builder()
                .rule(RateLimitRule.named("api")
                        .globalKey()
                        .policy(TokenBucket.perMinute(100))
                        .build())
                .build();
        context.registerBean(RateLimitWebFilter.class, () -> RateLimitWebFilter.of(engine));
        context.registerBean(
                "routes",
                RouterFunction.class,
                () -> RouterFunctions.route()
                        .GET("/hello", request -> ServerResponse.ok().bodyValue("hello"))
                        .build());
    });

    @AfterEach
    void stop() {
        server.close();
    }

    @Test
    void aBurstOfAHundredPerMinuteDoesNotPauseTheClientUntilTheQuotaIsWhole() {
        RateLimiter limiter = RateLimiter.of(TokenBucket.perSecond(1_000));
        WebClient client = WebClient.builder()
                .baseUrl("http://127.0.0.1:" + server.port())
                .filter(RateLimitExchangeFilter.of(limiter))
                .build();

        List<String> told = Flux.range(0, 100)
                .flatMap(
                        number -> client.get()
                                .uri("/hello")
                                .retrieve()
                                .toBodilessEntity()
                                .map(answer -> answer.getHeaders().getFirst("RateLimit")),
                        100)
                .collectList()
                .block(PATIENCE);

        assertThat(told).hasSize(100).allMatch(field -> field.endsWith(";t=1"), "more comes every 0.6 s");
        Duration paused = limiter.peek("127.0.0.1:" + server.port())
                .block(PATIENCE)
                .retryAfter()
                .orElse(Duration.ZERO);
        assertThat(paused).isLessThanOrEqualTo(Duration.ofSeconds(1));
    }
}
