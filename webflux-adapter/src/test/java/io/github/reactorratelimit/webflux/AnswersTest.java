package io.github.reactorratelimit.webflux;

import static io.github.reactorratelimit.webflux.testing.Rules.byUser;
import static io.github.reactorratelimit.webflux.testing.Rules.few;
import static io.github.reactorratelimit.webflux.testing.Rules.left;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.webflux.HeaderOptions.Legacy;
import io.github.reactorratelimit.webflux.testing.RawResponse;
import io.github.reactorratelimit.webflux.testing.TestServer;
import java.util.List;
import java.util.function.Consumer;
import org.greenbytes.http.sfv.Item;
import org.greenbytes.http.sfv.OuterList;
import org.greenbytes.http.sfv.Parametrizable;
import org.greenbytes.http.sfv.Parser;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.core.Ordered;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.CrossOrigin;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.cors.CorsConfiguration;
import org.springframework.web.cors.reactive.CorsConfigurationSource;
import org.springframework.web.cors.reactive.CorsWebFilter;
import org.springframework.web.cors.reactive.UrlBasedCorsConfigurationSource;
import org.springframework.web.reactive.DispatcherHandler;
import org.springframework.web.server.ResponseStatusException;
import reactor.core.publisher.Mono;

/** What a denied client gets to read, on a real server. */
class AnswersTest {

    private static final String ANN = "X-User: ann";
    private static final String ORIGIN = "Origin: http://a.example";
    private static final String[] PREFLIGHT = {ORIGIN, "Access-Control-Request-Method: GET", ANN};

    private final RateLimiter limiter = RateLimiter.of(few(2));
    private TestServer server;

    @RestController
    static class Api {
        @GetMapping("/hello")
        Mono<String> hello() {
            return Mono.just("hello");
        }

        @GetMapping("/shared")
        @CrossOrigin("http://a.example")
        Mono<String> shared() {
            return Mono.just("shared");
        }
    }

    private void start(Consumer<RateLimitEngineBuilder> choices) {
        start((context, builder) -> choices.accept(builder));
    }

    private void start(Wiring wiring) {
        RateLimitEngineBuilder builder = RateLimitEngine.builder()
                .rule(byUser("say \"hi\" \\o/").limiter(limiter).build());
        server = TestServer.start(context -> {
            context.registerBean(Api.class);
            wiring.wire(context, builder);
            context.registerBean(RateLimitWebFilter.class, () -> RateLimitWebFilter.of(builder.build()));
        });
    }

    private interface Wiring {
        void wire(AnnotationConfigApplicationContext context, RateLimitEngineBuilder builder);
    }

    private RawResponse denied(String path, String... headers) {
        limiter.tryAcquire("ann", 2).block();
        RawResponse denied = server.get(path, headers);
        assertThat(denied.status()).isEqualTo(429);
        return denied;
    }

    @AfterEach
    void stop() {
        if (server != null) {
            server.close();
        }
    }

    private static Parametrizable<?> only(OuterList list) {
        assertThat(list.get()).hasSize(1);
        return (Parametrizable<?>) list.get().get(0);
    }

    private static long number(Parametrizable<?> item, String parameter) {
        return (Long) ((Item<?>) item.getParams().get(parameter)).get();
    }

    @Test
    void fieldsAreReadBySomebodyElsesParser() {
        start(choices -> {});

        RawResponse allowed = server.get("/hello", ANN);
        Parametrizable<?> state = only(Parser.parseList(allowed.header("RateLimit")));
        assertThat(((Item<?>) state).get()).isEqualTo("say \"hi\" \\o/");
        assertThat(number(state, "r")).isEqualTo(1);
        assertThat(number(state, "t")).isBetween(17_000L, 18_000L);
        Parametrizable<?> policy = only(Parser.parseList(allowed.header("RateLimit-Policy")));
        assertThat(((Item<?>) policy).get()).isEqualTo("say \"hi\" \\o/");
        assertThat(number(policy, "q")).isEqualTo(2);
        assertThat(number(policy, "w")).isEqualTo(18_000);

        server.get("/hello", ANN);
        RawResponse denied = server.get("/hello", ANN);
        Parametrizable<?> used = only(Parser.parseList(denied.header("RateLimit")));
        assertThat(number(used, "r")).isZero();
        assertThat(Long.parseLong(denied.header("Retry-After"))).isGreaterThanOrEqualTo(number(used, "t"));
        assertThat(denied.header("X-RateLimit-Limit")).isNull();
    }

    @Test
    void legacyFieldsAreSentInsteadIfSoChosen() {
        start(choices ->
                choices.headers(HeaderOptions.defaults().withStandard(false).withLegacy(Legacy.DELTA_SECONDS)));

        RawResponse allowed = server.get("/hello", ANN);

        assertThat(allowed.header("X-RateLimit-Limit")).isEqualTo("2");
        assertThat(allowed.header("X-RateLimit-Remaining")).isEqualTo("1");
        assertThat(Long.parseLong(allowed.header("X-RateLimit-Reset"))).isBetween(17_000L, 18_000L);
        assertThat(allowed.header("RateLimit")).isNull();
        assertThat(allowed.header("RateLimit-Policy")).isNull();
    }

    @Test
    void denialIsAProblemAndNotStored() {
        start(choices -> {});

        RawResponse denied = denied("/hello", ANN);

        assertThat(denied.header("Content-Type")).isEqualTo("application/problem+json");
        assertThat(denied.header("Cache-Control")).isEqualTo("no-store");
        assertThat(denied.header("Vary")).contains("Accept");
        assertThat(denied.body())
                .isEqualTo("{\"type\":\"https://iana.org/assignments/http-problem-types#quota-exceeded\","
                        + "\"title\":\"Too Many Requests\",\"status\":429,"
                        + "\"detail\":\"The limit is used up for now. Please try again later.\","
                        + "\"violated-policies\":[\"say \\\"hi\\\" \\\\o/\"]}");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            */*                                                              | application/problem+json
            application/json                                                 | application/problem+json
            application/*;q=0.5, text/plain;q=0.4                            | application/problem+json
            text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8  | text/html;charset=UTF-8
            text/plain                                                       | text/plain;charset=UTF-8
            text/*                                                           | text/html;charset=UTF-8
            text/*, text/html;q=0                                            | text/plain;charset=UTF-8
            image/png                                                        | application/problem+json
            rubbish                                                          | application/problem+json
            """)
    void clientGetsTheFormItPrefers(String accept, String type) {
        start(choices -> {});

        RawResponse denied = denied("/hello", ANN, "Accept: " + accept);

        assertThat(denied.header("Content-Type")).isEqualTo(type);
        assertThat(denied.body()).contains("429").contains("Too Many Requests").doesNotContain("rubbish");
    }

    @Test
    void allLinesOfWhatTheClientPrefersCount() {
        start(choices -> {});

        RawResponse denied = denied(
                "/hello",
                ANN,
                "Accept: */*",
                "Accept: application/json;q=0.1, application/problem+json;q=0.1, text/html;q=0.2");

        assertThat(denied.header("Content-Type")).isEqualTo("text/plain;charset=UTF-8");
    }

    @Test
    void bodyCanBeWrittenByTheApplication() {
        start(choices -> choices.deniedHandler((exchange, denial) -> {
            exchange.getResponse().setStatusCode(HttpStatus.TOO_MANY_REQUESTS);
            exchange.getResponse().getHeaders().set("X-Rule", String.valueOf(denial.reason()));
            return exchange.getResponse().setComplete();
        }));

        RawResponse denied = denied("/hello", ANN);

        assertThat(denied.body()).isEmpty();
        assertThat(denied.header("X-Rule")).isEqualTo("LIMITED");
        assertThat(denied.header("Retry-After")).isNotNull();
    }

    @Test
    void denialCanBeLeftToTheErrorHandlingOfTheApplication() {
        start(choices -> choices.deniedHandler(
                (exchange, denial) -> Mono.error(new ResponseStatusException(denial.status(), "own words"))));

        assertThat(denied("/hello", ANN).header("Retry-After")).isNotNull();
    }

    @Test
    void preflightIsNotCounted() {
        start(choices -> {});

        for (int i = 0; i < 5; i++) {
            server.send("OPTIONS /shared HTTP/1.1", PREFLIGHT);
        }
        assertThat(left(limiter, "ann")).isEqualTo(2);
        server.send("OPTIONS /shared HTTP/1.1", ORIGIN, ANN);
        assertThat(left(limiter, "ann")).as("this is no preflight").isEqualTo(1);
    }

    @Test
    void preflightIsCountedByARuleThatNamesItsMethod() {
        RateLimiter preflights = RateLimiter.of(few(2));
        start(choices -> choices.rule(byUser("preflights")
                .method(HttpMethod.OPTIONS)
                .limiter(preflights)
                .build()));

        server.send("OPTIONS /shared HTTP/1.1", PREFLIGHT);

        assertThat(left(preflights, "ann")).isEqualTo(1);
        assertThat(left(limiter, "ann")).isEqualTo(2);
    }

    /** Two numbers about one thing, in the fields and in the body, would confuse whoever reads both. */
    @Test
    void handlerOfTheApplicationSeesTheRetryAfterThatIsSent() {
        start(choices -> choices.headers(HeaderOptions.defaults().withRetryAfterJitter(1))
                .deniedHandler((exchange, denial) -> {
                    exchange.getResponse()
                            .getHeaders()
                            .set("X-Seen", Long.toString(denial.retryAfter().toSeconds()));
                    return exchange.getResponse().setComplete();
                }));

        for (int i = 0; i < 20; i++) {
            RawResponse denied = denied("/hello", ANN);
            assertThat(denied.header("X-Seen")).isEqualTo(denied.header("Retry-After"));
        }
    }

    @Test
    void denialHasTheCorsHeadersThatTheHandlerWouldHave() {
        start((context, builder) -> builder.cors(
                DenialCors.from(() -> context.getBean(DispatcherHandler.class).getHandlerMappings())));

        RawResponse denied = denied("/shared", ANN, ORIGIN);
        assertThat(denied.header("Access-Control-Allow-Origin")).isEqualTo("http://a.example");
        assertThat(denied.headers().get("vary")).contains("Origin", "Accept");
        assertThat(denied("/hello", ANN, ORIGIN).header("Access-Control-Allow-Origin"))
                .as("this handler is not for other origins")
                .isNull();
        assertThat(denied("/shared", ANN, "Origin: http://evil.example").header("Access-Control-Allow-Origin"))
                .isNull();
        assertThat(denied("/nowhere", ANN, ORIGIN).header("Access-Control-Allow-Origin"))
                .isNull();
    }

    @ParameterizedTest
    @ValueSource(strings = {"http://a:b", "http://a b", "http://[", "%", "null"})
    void originThatIsNoneLeavesADenialAsItIs(String origin) {
        start((context, builder) -> builder.cors(
                DenialCors.from(() -> context.getBean(DispatcherHandler.class).getHandlerMappings())));

        assertThat(denied("/hello", ANN, "Origin: " + origin).header("Access-Control-Allow-Origin"))
                .isNull();
    }

    @ParameterizedTest
    @ValueSource(strings = {"http://a:b", "http://a b"})
    void corsHeadersOfADenialAreNotWrittenForAnOriginThatIsNone(String origin) {
        start((context, builder) -> builder.cors(DenialCors.from(source())));

        RawResponse denied = denied("/hello", ANN, "Origin: " + origin);

        assertThat(denied.header("Access-Control-Allow-Origin")).isNull();
        assertThat(denied.headers().get("vary")).doesNotContain("Origin");
    }

    private static CorsConfigurationSource source() {
        CorsConfiguration configuration = new CorsConfiguration();
        configuration.setAllowedOrigins(List.of("http://a.example"));
        UrlBasedCorsConfigurationSource source = new UrlBasedCorsConfigurationSource();
        source.registerCorsConfiguration("/hello", configuration);
        return source;
    }

    @Test
    void denialHasTheCorsHeadersOfACorsFilterThatComesLater() {
        start((context, builder) -> {
            context.registerBean(CorsWebFilter.class, () -> new CorsWebFilter(source()));
            builder.cors(DenialCors.from(source()));
        });

        assertThat(server.send("OPTIONS /hello HTTP/1.1", PREFLIGHT).status()).isEqualTo(200);
        assertThat(server.get("/hello", ANN, ORIGIN).header("Access-Control-Allow-Origin"))
                .isEqualTo("http://a.example");
        assertThat(left(limiter, "ann")).isEqualTo(1);
        limiter.tryAcquire("ann").block();
        assertThat(denied("/hello", ANN, ORIGIN).header("Access-Control-Allow-Origin"))
                .isEqualTo("http://a.example");
    }

    /** A CORS filter that is ordered first. */
    static final class FirstCors extends CorsWebFilter implements Ordered {
        FirstCors() {
            super(source());
        }

        @Override
        public int getOrder() {
            return Ordered.HIGHEST_PRECEDENCE;
        }
    }

    @Test
    void denialKeepsTheCorsHeadersOfACorsFilterThatCameFirst() {
        start((context, builder) -> {
            context.registerBean(FirstCors.class);
            builder.cors(DenialCors.from(source()));
        });

        RawResponse denied = denied("/hello", ANN, ORIGIN);

        assertThat(denied.headers().get("access-control-allow-origin")).containsExactly("http://a.example");
    }
}
