package io.github.reactorratelimit.webflux;

import static io.github.reactorratelimit.webflux.testing.Rules.byUser;
import static io.github.reactorratelimit.webflux.testing.Rules.engine;
import static io.github.reactorratelimit.webflux.testing.Rules.few;
import static io.github.reactorratelimit.webflux.testing.Rules.left;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.webflux.testing.RawResponse;
import io.github.reactorratelimit.webflux.testing.TestServer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.CrossOrigin;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.method.HandlerMethod;
import org.springframework.web.reactive.result.method.annotation.RequestMappingHandlerAdapter;
import org.springframework.web.reactive.result.method.annotation.RequestMappingHandlerMapping;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/** {@link RateLimited} on a real server. */
class RateLimitedHandlerAdapterTest {

    private static final String ANN = "X-User: ann";

    private TestServer server;

    @RestController
    @RateLimited("class")
    @CrossOrigin("http://a.example")
    static class Api {

        final AtomicInteger calls = new AtomicInteger();
        final Sinks.Empty<Void> mayEnd = Sinks.empty();

        @GetMapping("/reports")
        @RateLimited({"method", "second"})
        Mono<String> reports() {
            calls.incrementAndGet();
            return Mono.just("reports");
        }

        @GetMapping({"/other", "/another"})
        Mono<String> other() {
            return Mono.just("other");
        }

        @PostMapping("/login")
        @RateLimited("login")
        Mono<ResponseEntity<String>> login() {
            return Mono.just(ResponseEntity.status(401).body("no"));
        }

        @GetMapping("/slow")
        @RateLimited("parallel")
        Mono<String> slow() {
            calls.incrementAndGet();
            return mayEnd.asMono().thenReturn("done");
        }
    }

    @RestController
    static class Free {
        @GetMapping("/free")
        Mono<String> free() {
            return Mono.just("free");
        }
    }

    static class Unnamed {
        @RateLimited({})
        public void unnamed() {}
    }

    private final RateLimiter method = RateLimiter.of(few(2));
    private final RateLimiter second = RateLimiter.of(few(5));
    private final RateLimiter login = RateLimiter.of(few(2));
    private final RateLimiter parallel = RateLimiter.of(ConcurrencyLimit.of(1));
    private final RateLimiter everywhere = RateLimiter.of(few(50));

    private RateLimitEngine engineOfAll() {
        return engine(
                byUser("class").policy(few(1)).explicitOnly().build(),
                byUser("method").limiter(method).explicitOnly().build(),
                byUser("second").limiter(second).explicitOnly().build(),
                byUser("parallel").limiter(parallel).explicitOnly().build(),
                byUser("login")
                        .limiter(login)
                        .countStatuses(StatusSet.parse("200"))
                        .explicitOnly()
                        .build(),
                byUser("everywhere").path("/reports").limiter(everywhere).build());
    }

    private void start(RateLimitEngine engine, boolean withFilter) {
        start(engine, withFilter ? engine : null);
    }

    private void start(RateLimitEngine engine, RateLimitEngine ofFilter) {
        server = TestServer.start(context -> {
            context.registerBean(Api.class);
            context.registerBean(Free.class);
            context.registerBean(
                    RateLimitedHandlerAdapter.class,
                    () -> new RateLimitedHandlerAdapter(
                            engine, () -> context.getBean(RequestMappingHandlerAdapter.class)));
            if (ofFilter != null) {
                context.registerBean(RateLimitWebFilter.class, () -> RateLimitWebFilter.of(ofFilter));
            }
        });
    }

    private Api api() {
        return server.context().getBean(Api.class);
    }

    @AfterEach
    void stop() {
        if (server != null) {
            server.close();
        }
    }

    @Test
    void methodIsLimitedByTheRulesItNames() {
        start(engineOfAll(), true);

        assertThat(server.get("/reports", ANN).header("RateLimit")).startsWith("\"method\";r=1;");
        assertThat(server.get("/reports", ANN).status()).isEqualTo(200);
        RawResponse denied = server.get("/reports", ANN);

        assertThat(denied.status()).isEqualTo(429);
        assertThat(denied.body()).contains("\"violated-policies\":[\"method\"]");
        assertThat(api().calls).hasValue(2);
        assertThat(left(second, "ann")).as("denied by the first").isEqualTo(3);
        assertThat(left(everywhere, "ann"))
                .as("given back what the filter took")
                .isEqualTo(48);
    }

    @Test
    void annotationOfTheClassIsForMethodsWithoutOneAndCountsThemTogether() {
        start(engineOfAll(), false);

        assertThat(server.get("/other", ANN).status()).isEqualTo(200);
        assertThat(server.get("/another", ANN).status()).isEqualTo(429);
        assertThat(server.get("/reports", ANN).status()).isEqualTo(200);
        assertThat(server.get("/free", ANN).header("RateLimit")).isNull();
    }

    @Test
    void ruleThatTheFilterAppliedDoesNotCountTwice() {
        RateLimiter both = RateLimiter.of(few(5));
        start(
                engine(
                        byUser("class").path("/other").limiter(both).build(),
                        byUser("method").policy(few(1)).explicitOnly().build(),
                        byUser("second").policy(few(1)).explicitOnly().build(),
                        byUser("login").policy(few(1)).explicitOnly().build(),
                        byUser("parallel").policy(few(1)).explicitOnly().build()),
                true);

        server.get("/other", ANN);
        assertThat(left(both, "ann")).isEqualTo(4);
        server.get("/another", ANN);
        assertThat(left(both, "ann"))
                .as("the filter does not see this path, the handler does")
                .isEqualTo(3);
    }

    @Test
    void outcomeDecidesWhatCounts() {
        start(engineOfAll(), false);

        for (int i = 0; i < 4; i++) {
            assertThat(server.post("/login", "", ANN).status()).isEqualTo(401);
        }
        assertThat(left(login, "ann")).isEqualTo(2);
    }

    @Test
    void denialHasTheCorsHeadersOfTheHandlerAndPreflightIsNotCounted() {
        start(engineOfAll(), true);
        String[] preflight = {"Origin: http://a.example", "Access-Control-Request-Method: GET", ANN};

        for (int i = 0; i < 3; i++) {
            assertThat(server.send("OPTIONS /other HTTP/1.1", preflight).status())
                    .isEqualTo(200);
        }
        assertThat(server.get("/other", ANN, "Origin: http://a.example").status())
                .isEqualTo(200);
        RawResponse denied = server.get("/other", ANN, "Origin: http://a.example");

        assertThat(denied.status()).isEqualTo(429);
        assertThat(denied.header("Access-Control-Allow-Origin")).isEqualTo("http://a.example");
    }

    @Test
    void concurrencyLimitOfAMethodIsHeldUntilTheResponseWasSent() {
        start(engineOfAll(), true);
        CompletableFuture<RawResponse> first = CompletableFuture.supplyAsync(() -> server.get("/slow", ANN));
        Await.until("it is in its handler", () -> api().calls.get() == 1);

        assertThat(server.get("/slow", ANN).status()).isEqualTo(429);

        api().mayEnd.tryEmitEmpty();
        assertThat(first.join().status()).isEqualTo(200);
        Await.until("its permit came back", () -> left(parallel, "ann") == 1);
    }

    @Test
    void concurrencyLimitOfAMethodThatIsAlsoForAnotherPathComesBack() {
        start(withParallelElsewhere(byUser("everywhere").limiter(everywhere)), true);
        api().mayEnd.tryEmitEmpty();

        for (int i = 0; i < 3; i++) {
            assertThat(server.get("/slow", ANN).status()).isEqualTo(200);
            Await.until("its permit came back", () -> left(parallel, "ann") == 1);
        }
    }

    @Test
    void concurrencyLimitOfAMethodIsRefusedIfTheFilterIsOfAnotherEngine() {
        RateLimitEngine another =
                engine(byUser("everywhere").limiter(everywhere).build());
        start(withParallelElsewhere(byUser("unused").policy(few(1))), another);
        api().mayEnd.tryEmitEmpty();

        assertThat(server.get("/slow", ANN).status()).isEqualTo(500);
        assertThat(api().calls).hasValue(0);
        assertThat(left(parallel, "ann")).isEqualTo(1);
    }

    private RateLimitEngine withParallelElsewhere(RateLimitRuleBuilder another) {
        return engine(
                another.build(),
                byUser("parallel").path("/elsewhere").limiter(parallel).build(),
                byUser("class").policy(few(1)).explicitOnly().build(),
                byUser("method").policy(few(1)).explicitOnly().build(),
                byUser("second").policy(few(1)).explicitOnly().build(),
                byUser("login").policy(few(1)).explicitOnly().build());
    }

    @Test
    void concurrencyLimitOfAMethodIsRefusedWithoutAFilter() {
        start(engineOfAll(), false);

        assertThat(server.get("/slow", ANN).status()).isEqualTo(500);
        assertThat(api().calls).hasValue(0);
        assertThat(left(parallel, "ann")).isEqualTo(1);
    }

    @Test
    void annotationWithoutANameIsFoundWhenTheApplicationStarts() throws Exception {
        RateLimitEngine engine = engine(byUser("class").policy(few(1)).build());
        RateLimitedHandlerAdapter adapter = new RateLimitedHandlerAdapter(engine, RequestMappingHandlerAdapter::new);
        HandlerMethod unnamed = new HandlerMethod(new Unnamed(), "unnamed");

        assertThatIllegalArgumentException()
                .isThrownBy(() -> adapter.check(List.of(unnamed)))
                .withMessageMatching(
                        "@RateLimited of .*Unnamed#unnamed.*: no rate limit rule is named; there are \\[class]");
    }

    @Test
    void nameWithoutARuleIsFoundWhenTheApplicationStarts() {
        RateLimitEngine engine = engine(byUser("clas").policy(few(1)).build());
        start(engine, false);
        RateLimitedHandlerAdapter adapter = server.context().getBean(RateLimitedHandlerAdapter.class);
        var methods = server.context()
                .getBean(RequestMappingHandlerMapping.class)
                .getHandlerMethods()
                .values();

        assertThatIllegalArgumentException()
                .isThrownBy(() -> adapter.check(methods))
                .withMessageMatching("@RateLimited of .*Api#.*: there is no rate limit rule '.*'; there are \\[clas]");
    }
}
