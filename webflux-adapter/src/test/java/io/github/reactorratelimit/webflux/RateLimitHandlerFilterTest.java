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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.web.reactive.function.server.HandlerFunction;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/** Router functions on a real server. */
class RateLimitHandlerFilterTest {

    private static final String ANN = "X-User: ann";

    private final AtomicInteger calls = new AtomicInteger();
    private final Sinks.Empty<Void> mayEnd = Sinks.empty();
    private final RateLimiter reports = RateLimiter.of(few(1));
    private final RateLimiter parallel = RateLimiter.of(ConcurrencyLimit.of(1));
    private final RateLimiter inFlight = RateLimiter.of(ConcurrencyLimit.of(2));
    private final RateLimiter everywhere = RateLimiter.of(few(10));
    private final RateLimitEngine engine = engine(
            byUser("everywhere").limiter(everywhere).build(),
            byUser("inFlight").limiter(inFlight).build(),
            byUser("reports").limiter(reports).explicitOnly().build(),
            byUser("parallel").limiter(parallel).explicitOnly().build());

    private TestServer server;

    private void start(boolean withFilter) {
        server = TestServer.start(context -> {
            context.registerBean("routes", RouterFunction.class, this::routes);
            if (withFilter) {
                context.registerBean(RateLimitWebFilter.class, () -> RateLimitWebFilter.of(engine));
            }
        });
    }

    private RouterFunction<ServerResponse> routes() {
        return RouterFunctions.route()
                .GET("/reports", request -> {
                    calls.incrementAndGet();
                    return ServerResponse.ok().bodyValue("reports");
                })
                .filter(RateLimitHandlerFilter.of(engine, "reports", "everywhere"))
                .build()
                .and(RouterFunctions.route()
                        .GET("/stream", request -> {
                            calls.incrementAndGet();
                            return ServerResponse.ok()
                                    .body(
                                            Flux.just("a")
                                                    .concatWith(mayEnd.asMono().then(Mono.empty())),
                                            String.class);
                        })
                        .GET("/failing", request -> Mono.error(new IllegalStateException("failing")))
                        .filter(RateLimitHandlerFilter.of(engine, "parallel"))
                        .build()
                        .filter(this::answeredByAnother));
    }

    /** As a filter does that adds to what comes from within, or answers for what fails. */
    private Mono<ServerResponse> answeredByAnother(ServerRequest request, HandlerFunction<ServerResponse> next) {
        return switch (request.headers().firstHeader("X-Outer") + "") {
            case "replaces" ->
                next.handle(request)
                        .flatMap(inner ->
                                ServerResponse.status(inner.statusCode()).bodyValue("another"));
            case "falls back" ->
                next.handle(request).onErrorResume(error -> {
                    calls.incrementAndGet();
                    return mayEnd.asMono().then(ServerResponse.ok().bodyValue("instead"));
                });
            default -> next.handle(request);
        };
    }

    @AfterEach
    void stop() {
        if (server != null) {
            server.close();
        }
    }

    @Test
    void routesAreLimitedByTheRulesTheyName() {
        start(true);

        assertThat(server.get("/reports", ANN).status()).isEqualTo(200);
        RawResponse denied = server.get("/reports", ANN);

        assertThat(denied.status()).isEqualTo(429);
        assertThat(denied.header("Content-Type")).isEqualTo("application/problem+json");
        assertThat(denied.header("RateLimit")).startsWith("\"reports\";r=0;");
        assertThat(denied.body()).contains("\"violated-policies\":[\"reports\"]");
        assertThat(calls).hasValue(1);
        assertThat(left(everywhere, "ann"))
                .as("counted once, by the filter; not when denied")
                .isEqualTo(9);
    }

    @Test
    void routesAreLimitedWithoutAFilterToo() {
        start(false);

        assertThat(server.get("/reports", ANN).status()).isEqualTo(200);
        assertThat(server.get("/reports", ANN).status()).isEqualTo(429);
        assertThat(left(everywhere, "ann")).isEqualTo(9);
    }

    @Test
    void concurrencyLimitIsHeldUntilTheBodyWasSent() {
        start(true);
        CompletableFuture<RawResponse> first = CompletableFuture.supplyAsync(() -> server.get("/stream", ANN));
        Await.until("it is in its handler", () -> calls.get() == 1);

        assertThat(server.get("/stream", ANN).status()).isEqualTo(429);

        mayEnd.tryEmitEmpty();
        assertThat(first.join().status()).isEqualTo(200);
        Await.until("its permit came back", () -> left(parallel, "ann") == 1);
    }

    @Test
    void concurrencyLimitComesBackIfTheHandlerFails() {
        start(true);

        assertThat(server.get("/failing", ANN).status()).isEqualTo(500);
        Await.until("its permit came back", () -> left(parallel, "ann") == 1);
    }

    @Test
    void concurrencyLimitComesBackIfAnotherFilterReplacesTheResponse() {
        start(true);

        assertThat(server.get("/stream", ANN, "X-Outer: replaces").body()).isEqualTo("another");
        Await.until("its permit came back", () -> left(parallel, "ann") == 1);
    }

    @Test
    void concurrencyLimitsAreHeldWhileAFallbackRunsForAFailedHandler() {
        start(true);
        CompletableFuture<RawResponse> first =
                CompletableFuture.supplyAsync(() -> server.get("/failing", ANN, "X-Outer: falls back"));
        Await.until("the fallback runs", () -> calls.get() == 1);

        assertThat(left(inFlight, "ann")).as("of the web filter").isEqualTo(1);
        assertThat(left(parallel, "ann")).as("of the route").isZero();

        mayEnd.tryEmitEmpty();
        assertThat(first.join().body()).isEqualTo("instead");
        Await.until("they came back", () -> left(inFlight, "ann") == 2 && left(parallel, "ann") == 1);
    }

    @Test
    void concurrencyLimitWithoutTheWebFilterIsRefused() {
        start(false);
        mayEnd.tryEmitEmpty();

        assertThat(server.get("/stream", ANN).status()).isEqualTo(500);
        assertThat(calls).hasValue(0);
        assertThat(left(parallel, "ann")).isEqualTo(1);
    }

    @Test
    void noNameIsRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RateLimitHandlerFilter.of(engine))
                .withMessage("no rate limit rule is named; there are [everywhere, inFlight, parallel, reports]");
    }

    @Test
    void nameWithoutARuleIsRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RateLimitHandlerFilter.of(engine, "report"))
                .withMessage(
                        "there is no rate limit rule 'report'; there are [everywhere, inFlight, parallel, reports]");
    }
}
