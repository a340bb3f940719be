package io.github.reactorratelimit.webflux;

import static io.github.reactorratelimit.webflux.testing.Rules.byUser;
import static io.github.reactorratelimit.webflux.testing.Rules.engine;
import static io.github.reactorratelimit.webflux.testing.Rules.few;
import static io.github.reactorratelimit.webflux.testing.Rules.left;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.webflux.testing.BrokenLimiter;
import io.github.reactorratelimit.webflux.testing.RawResponse;
import io.github.reactorratelimit.webflux.testing.TestServer;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.core.annotation.Order;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.WebFilterChain;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/** The filter on a real server: what a client sees, and what it costs. */
class RateLimitWebFilterTest {

    private static final String ANN = "X-User: ann";

    private TestServer server;

    @RestController
    static class Api {

        final AtomicInteger calls = new AtomicInteger();
        final Sinks.Empty<Void> mayEnd = Sinks.empty();

        @GetMapping("/hello")
        Mono<String> hello() {
            calls.incrementAndGet();
            return Mono.just("hello");
        }

        @GetMapping("/slow")
        Mono<String> slow() {
            calls.incrementAndGet();
            return mayEnd.asMono().thenReturn("done");
        }

        @GetMapping("/quiet")
        Mono<Void> quiet() {
            calls.incrementAndGet();
            return Mono.empty();
        }

        @PostMapping("/upload")
        Mono<Integer> upload(@RequestBody String body) {
            return Mono.just(body.length());
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

    private void start(RateLimitRule... rules) {
        start(engine(rules));
    }

    private void start(RateLimitEngine engine, WebFilter... others) {
        server = TestServer.start(context -> {
            context.registerBean(Api.class);
            context.registerBean(RateLimitWebFilter.class, () -> RateLimitWebFilter.of(engine));
            for (int i = 0; i < others.length; i++) {
                WebFilter other = others[i];
                context.registerBean("other" + i, WebFilter.class, () -> other);
            }
        });
    }

    private Api api() {
        return server.context().getBean(Api.class);
    }

    @AfterEach
    void stop() {
        server.close();
    }

    @Test
    void requestsAboveTheLimitAreDeniedAndDoNotReachTheHandler() {
        start(byUser("api").path("/hello").policy(few(2)).build());

        assertThat(server.get("/hello", ANN).status()).isEqualTo(200);
        assertThat(server.get("/hello", ANN).status()).isEqualTo(200);
        assertThat(server.get("/hello", ANN).status()).isEqualTo(429);
        assertThat(api().calls).hasValue(2);
        assertThat(server.get("/hello", "X-User: bob").status()).isEqualTo(200);
    }

    @Test
    void headCountsAsGetAndOtherMethodsDoNot() {
        RateLimiter limiter = RateLimiter.of(few(3));
        start(byUser("api")
                .path("/hello")
                .method(HttpMethod.GET)
                .limiter(limiter)
                .build());

        assertThat(server.send("HEAD /hello HTTP/1.1", ANN).status()).isEqualTo(200);
        assertThat(server.get("/hello", ANN).status()).isEqualTo(200);
        assertThat(server.post("/hello", "", ANN).status()).isEqualTo(405);

        assertThat(left(limiter, "ann")).isEqualTo(1);
    }

    @Test
    void deniedHeadHasNoBody() {
        start(byUser("api").policy(few(1)).build());
        server.get("/hello", ANN);

        RawResponse denied = server.send("HEAD /hello HTTP/1.1", ANN);

        assertThat(denied.status()).isEqualTo(429);
        assertThat(denied.body()).isEmpty();
    }

    @Test
    void requestDeniedByOneRuleCostsNothingInTheOthers() {
        RateLimiter perUser = RateLimiter.of(few(10));
        RateLimiter global = RateLimiter.of(few(1));
        start(
                byUser("user").limiter(perUser).build(),
                RateLimitRule.named("global").globalKey().limiter(global).build());

        assertThat(server.get("/hello", ANN).status()).isEqualTo(200);
        RawResponse denied = server.get("/hello", ANN);

        assertThat(denied.status()).isEqualTo(429);
        assertThat(denied.header("RateLimit")).startsWith("\"global\";r=0;t=");
        assertThat(left(perUser, "ann")).isEqualTo(9);
    }

    @Test
    void ruleWithLeastLeftIsReportedAndAllPoliciesAreNamed() {
        start(
                byUser("user").policy(few(10)).build(),
                RateLimitRule.named("global").globalKey().policy(few(5)).build());

        RawResponse allowed = server.get("/hello", ANN);

        assertThat(allowed.header("RateLimit")).startsWith("\"global\";r=4;t=");
        assertThat(allowed.header("RateLimit-Policy")).isEqualTo("\"user\";q=10;w=18000, \"global\";q=5;w=18000");
    }

    @Test
    void onlyFailedLoginsCountHoweverTheStatusCameAbout() {
        RateLimiter limiter = RateLimiter.of(few(3));
        start(byUser("login")
                .path("/login")
                .limiter(limiter)
                .countStatuses(StatusSet.parse("401"))
                .build());

        for (int i = 0; i < 5; i++) {
            assertThat(server.post("/login", "", ANN, "X-Password: right").status())
                    .isEqualTo(200);
        }
        assertThat(left(limiter, "ann")).isEqualTo(3);
        assertThat(server.post("/login", "", ANN, "X-Password: wrong").status()).isEqualTo(401);
        assertThat(server.post("/login", "", ANN, "X-Password: error").status()).isEqualTo(401);
        assertThat(left(limiter, "ann")).isEqualTo(1);
        assertThat(server.post("/login", "", ANN, "X-Password: right").status()).isEqualTo(200);
        assertThat(server.post("/login", "", ANN, "X-Password: wrong").status()).isEqualTo(401);
        assertThat(server.post("/login", "", ANN, "X-Password: right").status()).isEqualTo(429);
    }

    @Test
    void requestCountsIfNobodyKnowsWhetherItShould() {
        RateLimiter limiter = RateLimiter.of(few(3));
        start(byUser("login")
                .limiter(limiter)
                .countWhen(exchange -> {
                    throw new IllegalStateException("cannot tell");
                })
                .build());

        assertThat(server.get("/hello", ANN).status()).isEqualTo(200);
        assertThat(left(limiter, "ann")).isEqualTo(2);
    }

    @ParameterizedTest
    @ValueSource(strings = {"X-Other: x", "X-User:", "X-User:   "})
    void requestWithoutKeyIsDenied(String header) {
        start(byUser("api").policy(few(5)).build());

        RawResponse denied = server.get("/hello", header);

        assertThat(denied.status()).isEqualTo(403);
        assertThat(denied.header("Cache-Control")).isEqualTo("no-store");
        assertThat(denied.body()).contains("\"type\":\"about:blank\"").doesNotContain("violated");
        assertThat(api().calls).hasValue(0);
    }

    @Test
    void requestsWithoutKeyShareOneLimitIfSoChosen() {
        start(byUser("api").sharedMissingKey().policy(few(2)).build());

        assertThat(server.get("/hello").status()).isEqualTo(200);
        assertThat(server.get("/hello", "X-User:").status()).isEqualTo(200);
        assertThat(server.get("/hello").status()).isEqualTo(429);
        assertThat(server.get("/hello", ANN).status()).isEqualTo(200);
    }

    @Test
    void requestWithoutKeyCostsNothingInOtherRules() {
        RateLimiter global = RateLimiter.of(few(5));
        start(
                RateLimitRule.named("global").globalKey().limiter(global).build(),
                byUser("api")
                        .missingKeyStatus(HttpStatus.UNAUTHORIZED)
                        .policy(few(5))
                        .build());

        assertThat(server.get("/hello").status()).isEqualTo(401);
        assertThat(left(global, "*")).isEqualTo(5);
    }

    @Test
    void errorInAKeyIsAnErrorAndCostsNothing() {
        RateLimiter global = RateLimiter.of(few(5));
        start(
                RateLimitRule.named("global").globalKey().limiter(global).build(),
                RateLimitRule.named("api")
                        .key(exchange -> Mono.error(new ResponseStatusException(HttpStatus.CONFLICT)))
                        .policy(few(5))
                        .build());

        assertThat(server.get("/hello").status()).isEqualTo(409);
        assertThat(left(global, "*")).isEqualTo(5);
        assertThat(api().calls).hasValue(0);
    }

    @Test
    void keyThatNeverComesIsAnswered() {
        start(RateLimitEngine.builder()
                .keyTimeout(ofMillis(1))
                .rule(RateLimitRule.named("api")
                        .key(exchange -> Mono.never())
                        .policy(few(5))
                        .build())
                .build());

        RawResponse denied = server.get("/hello");

        assertThat(denied.status()).isEqualTo(503);
        assertThat(denied.body()).contains("#temporary-reduced-capacity");
    }

    @Test
    void keyThatComesLaterIsUsed() {
        start(RateLimitRule.named("api")
                .key(exchange -> Mono.delay(ofMillis(1)).map(tick -> "late"))
                .policy(few(1))
                .build());

        assertThat(server.get("/hello").status()).isEqualTo(200);
        assertThat(server.get("/hello").status()).isEqualTo(429);
    }

    @Test
    void costIsTakenFromTheRequest() {
        RateLimiter limiter = RateLimiter.of(few(10));
        start(byUser("upload")
                .limiter(limiter)
                .cost(RequestCost.contentLength(1_000, 10))
                .build());

        server.post("/upload", "x".repeat(2_001), ANN);
        assertThat(left(limiter, "ann")).isEqualTo(7);
        server.get("/hello", ANN);
        assertThat(left(limiter, "ann")).isEqualTo(6);
    }

    @Test
    void requestThatCostsMoreThanTheLimitEverGivesIsDeniedForGood() {
        start(byUser("upload").policy(few(10)).cost(exchange -> 11).build());

        RawResponse denied = server.get("/hello", ANN);

        assertThat(denied.status()).isEqualTo(429);
        assertThat(denied.header("Retry-After")).isNull();
        assertThat(denied.body()).contains("\"violated-policies\":[\"upload\"]");
    }

    @Test
    void costBelowOneIsAnErrorNotAFreeRide() {
        start(byUser("upload").policy(few(10)).cost(exchange -> 0).build());

        assertThat(server.get("/hello", ANN).status()).isEqualTo(500);
        assertThat(api().calls).hasValue(0);
    }

    @Test
    void closedStoreIsAnsweredWith503() {
        start(byUser("api").limiter(BrokenLimiter.closed(few(5), ofSeconds(3))).build());

        RawResponse denied = server.get("/hello", ANN);

        assertThat(denied.status()).isEqualTo(503);
        assertThat(denied.header("RateLimit")).isNull();
        assertThat(Integer.parseInt(denied.header("Retry-After"))).isBetween(3, 4);
        assertThat(denied.body()).contains("#temporary-reduced-capacity").doesNotContain("violated");
    }

    @Test
    void openStoreLetsPassAndClaimsNothing() {
        start(byUser("api").limiter(BrokenLimiter.open(few(5))).build());

        RawResponse allowed = server.get("/hello", ANN);

        assertThat(allowed.status()).isEqualTo(200);
        assertThat(allowed.header("RateLimit")).isNull();
    }

    @Test
    void failingLimiterDeniesUnlessToldOtherwise() {
        BrokenLimiter failing = new BrokenLimiter(few(5), Mono.error(new BrokenLimiter.Failure()));
        RateLimiter working = RateLimiter.of(few(5));
        start(
                byUser("strict").path("/slow").limiter(failing).build(),
                byUser("lenient")
                        .limiter(failing)
                        .onFailure(FailureAction.ALLOW)
                        .build(),
                byUser("other").limiter(working).onFailure(FailureAction.ALLOW).build());

        assertThat(server.get("/slow", ANN).status()).isEqualTo(503);
        assertThat(left(working, "ann")).as("denied, so it cost nothing").isEqualTo(5);
        assertThat(server.get("/hello", ANN).status()).isEqualTo(200);
        assertThat(left(working, "ann"))
                .as("the failure of one is not that of the other")
                .isEqualTo(4);
    }

    @Test
    void limiterThatWasClosedDenies() {
        RateLimiter limiter = RateLimiter.of(few(5));
        start(byUser("api").limiter(limiter).build());
        limiter.close().block();

        assertThat(server.get("/hello", ANN).status()).isEqualTo(503);
    }

    @Test
    void exemptCallersAreNotCounted() {
        RateLimiter limiter = RateLimiter.of(few(1));
        start(RateLimitEngine.builder()
                .rule(byUser("api").limiter(limiter).build())
                .exempt(exchange ->
                        "internal".equals(exchange.getRequest().getHeaders().getFirst("X-Caller")))
                .build());

        for (int i = 0; i < 3; i++) {
            assertThat(server.get("/hello", ANN, "X-Caller: internal").status()).isEqualTo(200);
        }
        assertThat(left(limiter, "ann")).isEqualTo(1);
    }

    @Test
    void permitsOfAConcurrencyLimitComeBackWhenTheResponseWasSent() {
        RateLimiter limiter = RateLimiter.of(ConcurrencyLimit.of(1));
        RateLimiter perUser = RateLimiter.of(few(10));
        start(
                byUser("user").limiter(perUser).build(),
                byUser("parallel").limiter(limiter).build());
        CompletableFuture<RawResponse> first = CompletableFuture.supplyAsync(() -> server.get("/slow", ANN));
        Await.until("the first is in its handler", () -> api().calls.get() == 1);

        RawResponse second = server.get("/hello", ANN);
        assertThat(second.status()).isEqualTo(429);
        assertThat(second.header("RateLimit")).isEqualTo("\"parallel\";r=0");
        assertThat(second.header("Retry-After")).isNull();
        assertThat(left(perUser, "ann")).isEqualTo(9);

        api().mayEnd.tryEmitEmpty();
        assertThat(first.join().status()).isEqualTo(200);
        Await.until("its permit came back", () -> left(limiter, "ann") == 1);
    }

    @Test
    void permitsOfAConcurrencyLimitComeBackAfterAnError() {
        RateLimiter limiter = RateLimiter.of(ConcurrencyLimit.of(1));
        start(byUser("parallel").limiter(limiter).build());

        assertThat(server.post("/login", "", ANN, "X-Password: error").status()).isEqualTo(401);
        Await.until("its permit came back", () -> left(limiter, "ann") == 1);
    }

    /** Answers, and hands the request on all the same. */
    @Order(Integer.MIN_VALUE)
    static class Hasty implements WebFilter {
        @Override
        public Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
            exchange.getResponse().setStatusCode(HttpStatus.ACCEPTED);
            return exchange.getResponse().setComplete().then(chain.filter(exchange));
        }
    }

    @Test
    void nothingIsWrittenToACommittedResponse() {
        start(engine(byUser("api").policy(few(1)).build()), new Hasty());

        for (int i = 0; i < 3; i++) {
            RawResponse answered = server.get("/quiet", ANN);
            assertThat(answered.status()).isEqualTo(202);
            assertThat(answered.header("RateLimit")).isNull();
            assertThat(answered.body()).isEmpty();
        }
        assertThat(api().calls).hasValue(1);
    }

    @Test
    void keysAndHeadersAreNeverReflected() {
        String secret = "s3cr3t-k3y";
        start(
                byUser("api").policy(few(1)).build(),
                byUser("closed")
                        .path("/slow")
                        .limiter(BrokenLimiter.closed(few(5), ofSeconds(3)))
                        .build());

        for (String path : new String[] {"/hello", "/hello", "/slow", "/nowhere"}) {
            for (String accept : new String[] {"*/*", "text/html", "text/plain"}) {
                assertThat(server.get(path, "X-User: " + secret, "Accept: " + accept)
                                .raw())
                        .doesNotContain(secret);
            }
        }
    }
}
