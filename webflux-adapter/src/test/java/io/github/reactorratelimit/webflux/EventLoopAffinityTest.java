package io.github.reactorratelimit.webflux;

import static io.github.reactorratelimit.webflux.testing.Rules.byUser;
import static io.github.reactorratelimit.webflux.testing.Rules.engine;
import static io.github.reactorratelimit.webflux.testing.Rules.few;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.CallerThread;
import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.RateLimitContext;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.webflux.testing.ElsewhereLimiter;
import io.github.reactorratelimit.webflux.testing.KeptAlive;
import io.github.reactorratelimit.webflux.testing.RawResponse;
import io.github.reactorratelimit.webflux.testing.TestServer;
import io.netty.channel.EventLoop;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.http.server.reactive.ServerHttpRequestDecorator;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerResponse;
import org.springframework.web.reactive.result.method.annotation.RequestMappingHandlerAdapter;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.netty.Connection;

/** Requests on a real server whose limiters answer on other threads: where they go on, and that their connections live on. */
class EventLoopAffinityTest {

    private static final String ANN = "X-User: ann";

    /** Where handlers began and responses were committed: true if on the event loop of the connection. */
    private static final List<Boolean> ON_OWN_THREAD = new CopyOnWriteArrayList<>();

    private TestServer server;

    private static void note(ServerWebExchange exchange) {
        Connection connection = ServerHttpRequestDecorator.getNativeRequest(exchange.getRequest());
        ON_OWN_THREAD.add(connection.channel().eventLoop().inEventLoop());
    }

    private static void noteNowAndWhenCommitted(ServerWebExchange exchange) {
        note(exchange);
        exchange.getResponse().beforeCommit(() -> Mono.fromRunnable(() -> note(exchange)));
    }

    private static RateLimiter elsewhere(int permits) {
        return ElsewhereLimiter.of(RateLimiter.of(few(permits)));
    }

    @RestController
    static class Api {

        @GetMapping({"/plain", "/delayed", "/parallel", "/refunded", "/atOnce"})
        Mono<String> plain(ServerWebExchange exchange) {
            noteNowAndWhenCommitted(exchange);
            return Mono.just("plain");
        }

        @GetMapping("/annotated")
        @RateLimited("annotated")
        Mono<String> annotated(ServerWebExchange exchange) {
            noteNowAndWhenCommitted(exchange);
            return Mono.just("annotated");
        }
    }

    private static RateLimitEngine engineOfAll() {
        return engine(
                byUser("plain").path("/plain").limiter(elsewhere(3)).build(),
                byUser("delayed")
                        .path("/delayed")
                        .limiter(elsewhere(3))
                        .delay(Duration.ofMillis(1))
                        .build(),
                byUser("parallel")
                        .path("/parallel")
                        .limiter(ElsewhereLimiter.of(RateLimiter.of(ConcurrencyLimit.of(1))))
                        .build(),
                byUser("refunded")
                        .path("/refunded")
                        .limiter(elsewhere(3))
                        .countStatuses(StatusSet.parse("401"))
                        .build(),
                byUser("annotated").limiter(elsewhere(3)).explicitOnly().build(),
                byUser("routed").limiter(elsewhere(3)).explicitOnly().build());
    }

    private static RouterFunction<ServerResponse> routes(RateLimitEngine engine) {
        return RouterFunctions.route()
                .GET("/routed", request -> {
                    noteNowAndWhenCommitted(request.exchange());
                    return ServerResponse.ok().bodyValue("routed");
                })
                .filter(RateLimitHandlerFilter.of(engine, "routed"))
                .build();
    }

    private void start(RateLimitEngine engine, WebFilter first) {
        ON_OWN_THREAD.clear();
        server = TestServer.start(context -> {
            context.registerBean(Api.class);
            context.registerBean("first", WebFilter.class, () -> first);
            context.registerBean(
                    RateLimitWebFilter.class,
                    () -> RateLimitWebFilter.of(engine).withOrder(Integer.MAX_VALUE));
            context.registerBean(
                    RateLimitedHandlerAdapter.class,
                    () -> new RateLimitedHandlerAdapter(
                            engine, () -> context.getBean(RequestMappingHandlerAdapter.class)));
            if (engine.rule("routed").isPresent()) {
                context.registerBean("routes", RouterFunction.class, () -> routes(engine));
            }
        });
    }

    private static final WebFilter NOTING = (exchange, chain) -> {
        exchange.getResponse().beforeCommit(() -> Mono.fromRunnable(() -> note(exchange)));
        return chain.filter(exchange);
    };

    @AfterEach
    void stop() {
        server.close();
    }

    @ParameterizedTest
    @ValueSource(strings = {"/plain", "/delayed", "/parallel", "/refunded", "/annotated", "/routed"})
    void requestDecidedElsewhereIsHandledAndAnsweredOnItsConnectionsThread(String path) {
        start(engineOfAll(), NOTING);

        RawResponse response = server.get(path, ANN);

        assertThat(response.status()).isEqualTo(200);
        assertThat(ON_OWN_THREAD).hasSize(3).containsOnly(true);
    }

    @ParameterizedTest
    @ValueSource(strings = {"/plain", "/delayed", "/annotated", "/routed"})
    void denialElsewhereIsAnsweredOnTheConnectionsThread(String path) {
        start(engineOfAll(), NOTING);
        for (int i = 0; i < 3; i++) {
            assertThat(server.get(path, ANN).status()).isEqualTo(200);
        }
        ON_OWN_THREAD.clear();

        assertThat(server.get(path, ANN).status()).isEqualTo(429);
        assertThat(ON_OWN_THREAD).containsExactly(true);
    }

    @Test
    void requestWhoseLeaseGoesBackElsewhereEndsOnItsConnectionsThread() {
        List<Boolean> ended = new CopyOnWriteArrayList<>();
        start(engineOfAll(), (exchange, chain) -> {
            Connection connection = ServerHttpRequestDecorator.getNativeRequest(exchange.getRequest());
            EventLoop loop = connection.channel().eventLoop();
            return chain.filter(exchange).doOnSuccess(nothing -> ended.add(loop.inEventLoop()));
        });

        try (KeptAlive connection = KeptAlive.to(server.port())) {
            assertThat(connection.get("/parallel", ANN)).isEqualTo(200);
            Await.until("it has ended", () -> !ended.isEmpty());
        }
        assertThat(ended).containsExactly(true);
    }

    @Test
    void denialThatGivesBackElsewhereIsAnsweredOnTheConnectionsThread() {
        RateLimiter denying = RateLimiter.of(few(1));
        denying.tryAcquire("ann").block();
        start(
                engine(
                        byUser("granting")
                                .limiter(elsewhere(3))
                                .onFailure(FailureAction.ALLOW)
                                .build(),
                        byUser("denying").limiter(denying).build()),
                NOTING);

        assertThat(server.get("/plain", ANN).status()).isEqualTo(429);
        assertThat(ON_OWN_THREAD).containsExactly(true);
    }

    @Test
    void errorElsewhereIsAnsweredOnTheConnectionsThread() {
        RateLimitRule failing = RateLimitRule.named("failing")
                .key(exchange -> Mono.<String>error(new IllegalStateException("no key"))
                        .publishOn(Schedulers.parallel())
                        .onErrorResume(error -> Mono.error(new IllegalStateException(error))))
                .policy(few(1))
                .build();
        start(engine(failing), NOTING);

        assertThat(server.get("/plain", ANN).status()).isEqualTo(500);
        assertThat(ON_OWN_THREAD).containsExactly(true);
    }

    /** A limiter that notes whether it is asked to answer on the thread that asks. */
    private static RateLimiter noting(List<Boolean> asked) {
        RateLimiter decides = RateLimiter.of(few(3));
        return (RateLimiter) Proxy.newProxyInstance(
                RateLimiter.class.getClassLoader(),
                new Class<?>[] {RateLimiter.class},
                (proxy, method, arguments) -> method.getReturnType() != Mono.class
                        ? method.invoke(decides, arguments)
                        : Mono.deferContextual(context -> {
                            CallerThread wanted = RateLimitContext.callerThread(context);
                            asked.add(wanted != null && wanted.isCurrent());
                            return invoke(method, decides, arguments);
                        }));
    }

    private static Mono<?> invoke(Method method, RateLimiter limiter, Object[] arguments) {
        try {
            return (Mono<?>) method.invoke(limiter, arguments);
        } catch (ReflectiveOperationException failed) {
            return Mono.error(failed);
        }
    }

    @Test
    void limiterIsAskedToAnswerOnTheConnectionsThread() {
        List<Boolean> asked = new CopyOnWriteArrayList<>();
        start(
                engine(
                        byUser("plain").path("/plain").limiter(noting(asked)).build(),
                        byUser("delayed")
                                .path("/delayed")
                                .limiter(noting(asked))
                                .delay(Duration.ofMillis(1))
                                .build()),
                NOTING);

        assertThat(server.get("/plain", ANN).status()).isEqualTo(200);
        assertThat(server.get("/delayed", ANN).status()).isEqualTo(200);
        assertThat(asked).containsExactly(true, true);
    }

    @Test
    void limiterOfARequestThatIsElsewhereIsNotAskedToAnswerAnywhere() {
        List<Boolean> asked = new CopyOnWriteArrayList<>();
        start(
                engine(byUser("plain").path("/plain").limiter(noting(asked)).build()),
                (exchange, chain) -> Mono.just(exchange)
                        .publishOn(Schedulers.boundedElastic())
                        .flatMap(chain::filter));

        assertThat(server.get("/plain", ANN).status()).isEqualTo(200);
        assertThat(asked).containsExactly(false);
    }

    @Test
    void requestThatWasTakenElsewhereOnPurposeStaysThere() {
        start(
                engineOfAll(),
                (exchange, chain) -> Mono.just(exchange)
                        .publishOn(Schedulers.boundedElastic())
                        .flatMap(chain::filter));

        assertThat(server.get("/plain", ANN).status()).isEqualTo(200);
        assertThat(ON_OWN_THREAD).first().isEqualTo(false);
    }

    @Test
    void connectionIsReadFromHoweverOftenAnswersFromElsewhereAndAtOnceTakeTurns() {
        RateLimiter plenty = RateLimiter.of(TokenBucket.of(1_000_000, Duration.ofDays(1)));
        start(
                engine(
                        byUser("plain")
                                .path("/plain")
                                .limiter(ElsewhereLimiter.of(plenty))
                                .build(),
                        byUser("atOnce").path("/atOnce").limiter(plenty).build()),
                (exchange, chain) -> chain.filter(exchange));

        try (KeptAlive connection = KeptAlive.to(server.port())) {
            for (int i = 0; i < 2_000; i++) {
                assertThat(connection.get(i % 2 == 0 ? "/plain" : "/atOnce", ANN))
                        .isEqualTo(200);
            }
        }
    }
}
