package io.github.reactorratelimit.webflux;

import static io.github.reactorratelimit.webflux.testing.Rules.few;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.webflux.testing.Bypass;
import io.github.reactorratelimit.webflux.testing.TestServer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.Bean;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.http.HttpMethod;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.filter.reactive.UrlHandlerFilter;
import org.springframework.web.reactive.config.PathMatchConfigurer;
import org.springframework.web.reactive.config.WebFluxConfigurer;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerResponse;
import org.springframework.web.server.WebFilter;
import org.springframework.web.util.pattern.PathPatternParser;
import reactor.core.publisher.Mono;

/**
 * Attempts to reach a handler whose limit is used up, by writing its path or method in another way. Each is sent to a real server as it
 * is, to applications that differ in what they let through. What counts is that the handler is not called, as {@link BypassTest} checks; a control
 * run without the filter shows which attempts would reach it.
 */
class PathBypassTest {

    /** Method, target, version, and headers after bars. */
    private static final List<String> ATTEMPTS = List.of(
            "POST /login HTTP/1.1",
            "POST /login HTTP/1.0",
            "POST /login/ HTTP/1.1",
            "POST //login HTTP/1.1",
            "POST ///login HTTP/1.1",
            "POST /login// HTTP/1.1",
            "POST //login/ HTTP/1.1",
            "POST /login;x=1 HTTP/1.1",
            "POST /login; HTTP/1.1",
            "POST /login;x=1;y=2,3 HTTP/1.1",
            "POST /login;x=%2f HTTP/1.1",
            "POST /login;x=1/ HTTP/1.1",
            "POST /;x=1/login HTTP/1.1",
            "POST /%6cogin HTTP/1.1",
            "POST /%6Cogin HTTP/1.1",
            "POST /l%6fgin HTTP/1.1",
            "POST /%6c%6f%67%69%6e HTTP/1.1",
            "POST /%6cogin;x=1 HTTP/1.1",
            "POST /logi%6e/ HTTP/1.1",
            "POST /%256cogin HTTP/1.1",
            "POST /%2flogin HTTP/1.1",
            "POST /login%2f HTTP/1.1",
            "POST /login%3bx=1 HTTP/1.1",
            "POST /login%20 HTTP/1.1",
            "POST /login%00 HTTP/1.1",
            "POST /login%0a HTTP/1.1",
            "POST /login.json HTTP/1.1",
            "POST /login? HTTP/1.1",
            "POST /login?x=/other HTTP/1.1",
            "POST /login#x HTTP/1.1",
            "POST /login\\ HTTP/1.1",
            "POST /./login HTTP/1.1",
            "POST /login/. HTTP/1.1",
            "POST /x/../login HTTP/1.1",
            "POST /%2e/login HTTP/1.1",
            "POST /x/%2e%2e/login HTTP/1.1",
            "POST http://localhost/login HTTP/1.1",
            "POST http://elsewhere:99/login;x HTTP/1.1",
            "POST /LOGIN HTTP/1.1",
            "POST /Login/ HTTP/1.1",
            "POST /%4cogin HTTP/1.1",
            "GET /login HTTP/1.1",
            "PUT /login HTTP/1.1",
            "PROPFIND /login HTTP/1.1",
            "post /login HTTP/1.1",
            "OPTIONS /login HTTP/1.1",
            "OPTIONS /login HTTP/1.1|Origin: http://a.example|Access-Control-Request-Method: POST",
            "POST /login HTTP/1.1|Origin: http://a.example|Access-Control-Request-Method: POST",
            "POST /login HTTP/1.1|X-HTTP-Method-Override: OPTIONS",
            "POST /login HTTP/1.1|X-Forwarded-Prefix: /other",
            "POST /login HTTP/1.1|X-Original-URL: /other|X-Rewrite-URL: /other",
            "GET /items/7 HTTP/1.1",
            "HEAD /items/7 HTTP/1.1",
            "GET /items/7;v=2 HTTP/1.1",
            "GET /items;v=2/7 HTTP/1.1",
            "GET /i%74ems/7 HTTP/1.1",
            "GET /items/7/ HTTP/1.1",
            "GET /items//7 HTTP/1.1",
            "GET //items/7 HTTP/1.1",
            "GET /items/%37 HTTP/1.1",
            "GET /items/a%2fb HTTP/1.1",
            "GET /items/..;/7 HTTP/1.1",
            "GET /ITEMS/7 HTTP/1.1",
            "get /items/7 HTTP/1.1",
            "HEAD /items/7 HTTP/1.1|X-HTTP-Method-Override: GET",
            "GET /functional HTTP/1.1",
            "HEAD /functional HTTP/1.1",
            "GET /functional/ HTTP/1.1",
            "GET //functional HTTP/1.1",
            "GET /functional;x HTTP/1.1",
            "GET /f%75nctional HTTP/1.1",
            "GET /files/a/b HTTP/1.1",
            "GET /files//a HTTP/1.1",
            "GET /files/a;x/../b HTTP/1.1",
            "GET /f%69les/ HTTP/1.1");

    /** Servers of the attempts. */
    private static final Map<Application, TestServer> LIMITED = new ConcurrentHashMap<>();

    @RestController
    static class Api {
        final AtomicInteger calls = new AtomicInteger();

        @RequestMapping("/login")
        Mono<String> login() {
            calls.incrementAndGet();
            return Mono.just("in");
        }

        @GetMapping("/items/{id}")
        Mono<String> item(@PathVariable("id") String id) {
            calls.incrementAndGet();
            return Mono.just(id);
        }

        @GetMapping("/files/{*path}")
        Mono<String> file(@PathVariable("path") String path) {
            calls.incrementAndGet();
            return Mono.just(path);
        }

        @Bean
        RouterFunction<ServerResponse> functional() {
            return RouterFunctions.route()
                    .GET("/functional", request -> {
                        calls.incrementAndGet();
                        return ServerResponse.ok().bodyValue("functional");
                    })
                    .build();
        }
    }

    /** Lets trailing slashes through, behind our back. */
    static class Slashes {
        @Bean
        @Order(Ordered.LOWEST_PRECEDENCE)
        WebFilter slashes() {
            return UrlHandlerFilter.trailingSlashHandler("/**").mutateRequest().build();
        }
    }

    static class AnyCase implements WebFluxConfigurer {
        @Override
        public void configurePathMatching(PathMatchConfigurer configurer) {
            configurer.setUseCaseSensitiveMatch(false);
        }
    }

    private enum Application {
        PLAIN,
        SLASHES,
        ANY_CASE
    }

    private static TestServer start(Application application, boolean limited) {
        return TestServer.start(context -> {
            context.register(Api.class);
            PathPatternParser parser = new PathPatternParser();
            if (application == Application.SLASHES) {
                context.register(Slashes.class);
            } else if (application == Application.ANY_CASE) {
                context.register(AnyCase.class);
                parser.setCaseSensitive(false);
            }
            if (limited) {
                context.registerBean(RateLimitWebFilter.class, () -> RateLimitWebFilter.of(usedUp(parser)));
            }
        });
    }

    private static RateLimitEngine usedUp(PathPatternParser parser) {
        RateLimiter limiter = RateLimiter.of(few(1));
        limiter.tryAcquire("*").block();
        return RateLimitEngine.builder()
                .parser(parser)
                .rule(rule("login", limiter).path("/login").build())
                .rule(rule("reads", limiter)
                        .path("/items/{id}", "/functional", "/files/**")
                        .method(HttpMethod.GET)
                        .build())
                .build();
    }

    private static RateLimitRuleBuilder rule(String name, RateLimiter limiter) {
        return RateLimitRule.named(name).globalKey().limiter(limiter);
    }

    private static int status(TestServer server, String attempt) {
        String[] parts = attempt.split("\\|");
        return server.send(parts[0], Stream.of(parts).skip(1).toArray(String[]::new))
                .status();
    }

    /** How many calls of a handler the attempt leads to. */
    private static int calls(TestServer server, String attempt) {
        Api api = server.context().getBean(Api.class);
        int before = api.calls.get();
        status(server, attempt);
        return api.calls.get() - before;
    }

    private static List<String> reaching(TestServer server) {
        return ATTEMPTS.stream().filter(attempt -> calls(server, attempt) > 0).toList();
    }

    /** No attempt may reach a handler whose limit is used up. */
    static Stream<Bypass> attempts() {
        return Stream.of(Application.values())
                .flatMap(application -> ATTEMPTS.stream()
                        .map(attempt -> new Bypass(
                                application + ": " + attempt, () -> calls(limited(application), attempt), 0)));
    }

    private static TestServer limited(Application application) {
        return LIMITED.computeIfAbsent(application, started -> start(started, true));
    }

    /** Stops what the attempts have started. */
    static void stop() {
        LIMITED.values().forEach(TestServer::close);
        LIMITED.clear();
    }

    @Test
    void manyOfTheAttemptsReachTheHandlerWhereThereIsNoFilter() {
        List<String> all = new ArrayList<>();
        for (Application application : Application.values()) {
            try (TestServer server = start(application, false)) {
                all.addAll(reaching(server));
            }
        }
        assertThat(all)
                .contains(
                        "POST /login;x=1 HTTP/1.1",
                        "POST /%6cogin HTTP/1.1",
                        "POST /login/ HTTP/1.1",
                        "POST /LOGIN HTTP/1.1")
                .hasSizeGreaterThan(60);
    }

    @Test
    void attemptsAtLimitedHandlersAreAnsweredAsLimited() {
        try (TestServer server = start(Application.PLAIN, true)) {
            assertThat(List.of(
                            "POST /login HTTP/1.1",
                            "POST /login;x=1 HTTP/1.1",
                            "POST /%6cogin HTTP/1.1",
                            "POST //login HTTP/1.1",
                            "POST /login/ HTTP/1.1",
                            "HEAD /items/7 HTTP/1.1"))
                    .allSatisfy(attempt -> assertThat(status(server, attempt)).isEqualTo(429));
            assertThat(status(server, "POST /logins HTTP/1.1")).isEqualTo(404);
        }
    }
}
