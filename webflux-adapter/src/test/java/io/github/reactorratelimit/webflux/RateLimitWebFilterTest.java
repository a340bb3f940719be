package io.github.reactorratelimit.webflux;

import static java.time.Duration.ofHours;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.webflux.testing.RawResponse;
import io.github.reactorratelimit.webflux.testing.TestServer;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;
import reactor.core.publisher.Mono;

/** The filter on a real server: what a client sees. */
class RateLimitWebFilterTest {

    private TestServer server;

    @RestController
    static class Api {

        final AtomicInteger calls = new AtomicInteger();

        @GetMapping("/hello")
        Mono<String> hello() {
            calls.incrementAndGet();
            return Mono.just("hello");
        }

        @PostMapping("/login")
        Mono<ResponseEntity<String>> login(@RequestHeader("X-Password") String password) {
            return switch (password) {
                case "right" -> Mono.just(ResponseEntity.ok("welcome"));
                case "wrong" -> Mono.just(ResponseEntity.status(401).body("no"));
                default -> Mono.error(new ResponseStatusException(HttpStatus.UNAUTHORIZED));
            };
        }
    }

    private static RateLimitRuleBuilder byUser(String name) {
        return RateLimitRule.named(name)
                .key(exchange ->
                        Mono.justOrEmpty(exchange.getRequest().getHeaders().getFirst("X-User")));
    }

    /** Few permits that do not come back while a test runs. */
    private static SlidingWindowLog few(int permits) {
        return SlidingWindowLog.of(permits, ofHours(1));
    }

    private void start(RateLimitRule... rules) {
        RateLimitEngineBuilder engine = RateLimitEngine.builder();
        for (RateLimitRule rule : rules) {
            engine.rule(rule);
        }
        server = TestServer.start(context -> {
            context.registerBean(Api.class);
            context.registerBean(RateLimitWebFilter.class, () -> RateLimitWebFilter.of(engine.build()));
        });
    }

    private int calls() {
        return server.context().getBean(Api.class).calls.get();
    }

    @AfterEach
    void stop() {
        server.close();
    }

    @Test
    void requestsAboveTheLimitAreDeniedAndDoNotReachTheHandler() {
        start(byUser("api").path("/hello").policy(few(2)).build());

        assertThat(server.get("/hello", "X-User: a").status()).isEqualTo(200);
        assertThat(server.get("/hello", "X-User: a").status()).isEqualTo(200);
        RawResponse denied = server.get("/hello", "X-User: a");

        assertThat(denied.status()).isEqualTo(429);
        assertThat(calls()).isEqualTo(2);
        assertThat(server.get("/hello", "X-User: b").status()).isEqualTo(200);
    }
}
