package io.github.reactorratelimit.webflux.client;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofNanos;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.retry.RateLimitRetry;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.webflux.testing.Rules;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.http.client.reactive.ReactorClientHttpConnector;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.ExchangeFilterFunction;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.reactive.function.client.support.WebClientAdapter;
import org.springframework.web.service.annotation.GetExchange;
import org.springframework.web.service.annotation.PostExchange;
import org.springframework.web.service.invoker.HttpServiceProxyFactory;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.netty.DisposableServer;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.server.HttpServer;
import reactor.netty.resources.ConnectionProvider;
import reactor.test.StepVerifier;

/** A real client and a real server, on the loopback address. */
class LoopbackClientTest {

    private static final Duration PATIENCE = ofMinutes(1);
    private static final String PIECE = "0123456789";

    private final AtomicInteger requests = new AtomicInteger();
    private final AtomicInteger refusalsLeft = new AtomicInteger();

    /** What the server adds to the body of {@code /stream}. */
    private final Sinks.Many<String> stream = Sinks.many().multicast().directBestEffort();

    /** One connection: what is not released keeps all others away. */
    private final ConnectionProvider oneConnection = ConnectionProvider.builder("one")
            .maxConnections(1)
            .pendingAcquireTimeout(PATIENCE)
            .build();

    private final DisposableServer server = HttpServer.create()
            .host("127.0.0.1")
            .port(0)
            .route(routes -> routes.get("/hello", (request, response) -> {
                        requests.incrementAndGet();
                        return response.sendString(Mono.just(PIECE));
                    })
                    .post("/hello", (request, response) -> {
                        requests.incrementAndGet();
                        return request.receive().then().thenMany(response.sendString(Mono.just(PIECE)));
                    })
                    .get("/tokens", (request, response) -> {
                        requests.incrementAndGet();
                        return response.header("X-Tokens", "70").sendString(Mono.just(PIECE));
                    })
                    .get("/refused", (request, response) -> {
                        requests.incrementAndGet();
                        boolean refused = refusalsLeft.getAndDecrement() > 0;
                        return response.status(refused ? 429 : 200).sendString(Mono.just(refused ? "no" : "yes"));
                    })
                    .get("/endless", (request, response) -> {
                        boolean refused = requests.incrementAndGet() == 1;
                        Flux<String> pieces = refused ? Flux.just("no").concatWith(stream.asFlux()) : Flux.just("yes");
                        return response.status(refused ? 503 : 200)
                                .send(
                                        pieces.map(text -> Unpooled.copiedBuffer(text, StandardCharsets.US_ASCII)),
                                        piece -> true);
                    })
                    .get("/silent", (request, response) -> {
                        requests.incrementAndGet();
                        return Mono.never();
                    })
                    .get("/stream", (request, response) -> {
                        requests.incrementAndGet();
                        Flux<String> pieces = Flux.just(PIECE).concatWith(stream.asFlux());
                        return response.send(
                                pieces.map(text -> Unpooled.copiedBuffer(text, StandardCharsets.US_ASCII)),
                                piece -> true);
                    }))
            .bindNow(PATIENCE);

    private final String key = "127.0.0.1:" + server.port();

    @AfterEach
    void end() {
        stream.tryEmitComplete();
        oneConnection.disposeLater().block(PATIENCE);
        server.disposeNow(PATIENCE);
    }

    private WebClient client(ExchangeFilterFunction filter) {
        return WebClient.builder()
                .clientConnector(new ReactorClientHttpConnector(HttpClient.create(oneConnection)))
                .baseUrl("http://127.0.0.1:" + server.port())
                .filter(filter)
                .build();
    }

    private WebClient client(RateLimiter limiter, UnaryOperator<OutboundSpec> spec) {
        return client(RateLimitExchangeFilter.of(limiter, spec));
    }

    private static RateLimiter plenty() {
        return RateLimiter.of(TokenBucket.of(1_000, ofHours(1_000)));
    }

    /** What a declarative client looks like. */
    interface Hello {
        @GetExchange("/hello")
        Mono<String> get();

        @PostExchange("/hello")
        Mono<Void> post();
    }

    @Test
    void declarativeInterfacesAreLimitedToo() {
        RateLimiter limiter = RateLimiter.of(TokenBucket.of(2, ofHours(2)));
        Hello hello = HttpServiceProxyFactory.builderFor(WebClientAdapter.create(client(limiter, OutboundSpec::reject)))
                .build()
                .createClient(Hello.class);

        assertThat(hello.get().block(PATIENCE)).isEqualTo(PIECE);
        hello.post().block(PATIENCE);
        StepVerifier.create(hello.get())
                .expectError(RateLimitExceededException.class)
                .verify(PATIENCE);

        assertThat(requests).hasValue(2);
        assertThat(Rules.left(limiter, key)).isZero();
    }

    @Test
    void waitingCallsGoOutOneAfterTheOther() {
        RateLimiter limiter = RateLimiter.of(TokenBucket.of(2, ofHours(2)));
        WebClient client = client(limiter, spec -> spec);
        Flux<String> calls = Flux.range(0, 4)
                .flatMap(n -> client.get().uri("/hello").retrieve().bodyToMono(String.class));
        CompletableFuture<Long> answered = calls.count().toFuture();

        Await.until("two are answered", () -> requests.get() == 2);
        limiter.reset(key).block(PATIENCE);

        assertThat(Mono.fromFuture(answered).block(PATIENCE)).isEqualTo(4);
        assertThat(requests).hasValue(4);
    }

    /** Whether the only permit can be had. */
    private boolean isFree(RateLimiter limiter) {
        return limiter.acquireLease(key, 1, Duration.ZERO)
                .flatMap(lease -> lease.release().thenReturn(true))
                .onErrorReturn(RateLimitExceededException.class, false)
                .blockOptional(PATIENCE)
                .orElseThrow();
    }

    private void awaitFree(RateLimiter limiter) {
        Await.until("the permit is back", () -> isFree(limiter));
    }

    private static RateLimiter one() {
        return RateLimiter.of(ConcurrencyLimit.of(1));
    }

    private Disposable reading(WebClient client, CompletableFuture<String> first) {
        return client.get()
                .uri("/stream")
                .retrieve()
                .bodyToFlux(DataBuffer.class)
                .map(piece -> {
                    String text = piece.toString(StandardCharsets.US_ASCII);
                    DataBufferUtils.release(piece);
                    return text;
                })
                .subscribe(first::complete, first::completeExceptionally);
    }

    @Test
    void permitInFlightIsHeldUntilTheBodyEnds() {
        RateLimiter limiter = one();
        CompletableFuture<String> first = new CompletableFuture<>();
        reading(client(limiter, spec -> spec), first);

        assertThat(Mono.fromFuture(first).block(PATIENCE)).isEqualTo(PIECE);
        assertThat(isFree(limiter)).isFalse();
        stream.tryEmitComplete();

        awaitFree(limiter);
    }

    @Test
    void permitInFlightComesBackWhenTheReaderLeaves() {
        RateLimiter limiter = one();
        CompletableFuture<String> first = new CompletableFuture<>();
        Disposable reader = reading(client(limiter, spec -> spec), first);

        assertThat(Mono.fromFuture(first).block(PATIENCE)).isEqualTo(PIECE);
        assertThat(isFree(limiter)).isFalse();
        reader.dispose();

        awaitFree(limiter);
    }

    @Test
    void permitInFlightComesBackWhenTheConnectionBreaks() {
        RateLimiter limiter = one();
        CompletableFuture<String> first = new CompletableFuture<>();
        reading(client(limiter, spec -> spec), first);

        assertThat(Mono.fromFuture(first).block(PATIENCE)).isEqualTo(PIECE);
        assertThat(isFree(limiter)).isFalse();
        stream.tryEmitError(new IllegalStateException("broken off"));

        awaitFree(limiter);
    }

    @Test
    void permitInFlightComesBackWhenTheCallerLeavesBeforeAnAnswer() {
        RateLimiter limiter = one();
        Disposable call = client(limiter, spec -> spec)
                .get()
                .uri("/silent")
                .retrieve()
                .bodyToMono(String.class)
                .subscribe();

        Await.until("the request is there", () -> requests.get() == 1);
        assertThat(isFree(limiter)).isFalse();
        call.dispose();

        awaitFree(limiter);
    }

    @Test
    void permitInFlightComesBackWhenTheBodyIsOfNoInterest() {
        RateLimiter limiter = one();
        WebClient client = client(limiter, spec -> spec);

        client.get().uri("/hello").retrieve().toBodilessEntity().block(PATIENCE);
        awaitFree(limiter);
        client.get()
                .uri("/hello")
                .exchangeToMono(answer -> Mono.just(answer.statusCode()))
                .block(PATIENCE);
        awaitFree(limiter);
        client.get().uri("/hello").exchangeToMono(ClientResponse::releaseBody).block(PATIENCE);
        awaitFree(limiter);
        client.head()
                .uri("/hello")
                .retrieve()
                .toBodilessEntity()
                .onErrorComplete()
                .block(PATIENCE);
        awaitFree(limiter);
    }

    @Test
    void permitInFlightComesBackWhenNobodyListensOnTheOtherSide() {
        RateLimiter limiter = one();
        WebClient client = client(limiter, spec -> spec.key(key));

        StepVerifier.create(client.get().uri("http://127.0.0.1:1/").retrieve().bodyToMono(String.class))
                .expectError()
                .verify(PATIENCE);

        awaitFree(limiter);
    }

    @Test
    void bytesOfTheBodyAreCharged() {
        RateLimiter limiter = plenty();
        WebClient client = client(limiter, spec -> spec.cost(100).chargeBytes());

        client.get().uri("/hello").retrieve().bodyToMono(String.class).block(PATIENCE);

        Await.until("settled", () -> Rules.left(limiter, key) == 990);
    }

    @Test
    void bytesBeyondTheEstimateAreChargedWhileTheyCome() {
        RateLimiter limiter = plenty();
        CompletableFuture<String> first = new CompletableFuture<>();
        reading(client(limiter, spec -> spec.cost(4).chargeBytes()), first);

        assertThat(Mono.fromFuture(first).block(PATIENCE)).isEqualTo(PIECE);
        Await.until("charged", () -> Rules.left(limiter, key) == 990);
        stream.tryEmitComplete();
        Await.until("settled", () -> Rules.left(limiter, key) == 990);
    }

    @Test
    void whoLeavesMidwayPaysForWhatCame() {
        RateLimiter limiter = plenty();
        CompletableFuture<String> first = new CompletableFuture<>();
        Disposable reader = reading(client(limiter, spec -> spec.cost(500).chargeBytes()), first);

        assertThat(Mono.fromFuture(first).block(PATIENCE)).isEqualTo(PIECE);
        assertThat(Rules.left(limiter, key)).isEqualTo(500);
        reader.dispose();

        Await.until("settled", () -> Rules.left(limiter, key) == 990);
    }

    @Test
    void callWithoutAnAnswerCostsNoBytes() {
        RateLimiter limiter = plenty();
        WebClient client = client(limiter, spec -> spec.key(key).cost(500).chargeBytes());

        client.get()
                .uri("http://127.0.0.1:1/")
                .retrieve()
                .toBodilessEntity()
                .onErrorComplete()
                .block(PATIENCE);

        Await.until("given back", () -> Rules.left(limiter, key) == 1_000);
    }

    @Test
    void whatTheAnswerSaysThatItCostIsCharged() {
        RateLimiter limiter = plenty();
        WebClient client = client(
                limiter,
                spec -> spec.cost(500)
                        .charge(answer -> Long.parseLong(
                                answer.headers().header("X-Tokens").get(0))));

        assertThat(client.get()
                        .uri("/tokens")
                        .retrieve()
                        .bodyToMono(String.class)
                        .block(PATIENCE))
                .isEqualTo(PIECE);

        Await.until("settled", () -> Rules.left(limiter, key) == 930);
    }

    @Test
    void answerWithoutWhatItCostFailsAtTheEstimateAndLeavesNoConnectionBehind() {
        RateLimiter limiter = plenty();
        WebClient client = client(limiter, spec -> spec.cost(500).charge(answer -> -1));

        for (int i = 1; i <= 2; i++) {
            StepVerifier.create(client.get().uri("/tokens").retrieve().bodyToMono(String.class))
                    .expectErrorMessage("the permits of an answer must not be negative, was -1")
                    .verify(PATIENCE);
            assertThat(Rules.left(limiter, key)).isEqualTo(1_000 - 500L * i);
        }
    }

    @Test
    void whoLeavesBeforeTheAnswerPaysTheEstimateIfTheAnswerWouldSayWhatItCost() {
        RateLimiter limiter = plenty();
        Disposable call = client(limiter, spec -> spec.cost(400).charge(answer -> 1))
                .get()
                .uri("/silent")
                .retrieve()
                .toBodilessEntity()
                .subscribe();

        Await.until("the request is there", () -> requests.get() == 1);
        call.dispose();

        assertThat(Rules.left(limiter, key)).isEqualTo(600);
    }

    @Test
    void refusalsLeaveTheConnectionToTheRetry() {
        RateLimiter limiter = plenty();
        refusalsLeft.set(3);
        RateLimitRetry brisk = RateLimitRetry.atMost(3).withBackoff(ofNanos(1), ofNanos(1));
        WebClient client = client(RateLimitExchangeFilter.of(limiter).withRetry(brisk));

        assertThat(client.get()
                        .uri("/refused")
                        .retrieve()
                        .bodyToMono(String.class)
                        .block(PATIENCE))
                .isEqualTo("yes");

        assertThat(requests).hasValue(4);
        assertThat(Rules.left(limiter, key)).isEqualTo(996);
    }

    @Test
    void refusalThatDoesNotEndLeavesConnectionAndPermitToTheRetry() {
        RateLimiter limiter = one();
        RateLimitRetry brisk = RateLimitRetry.atMost(1).withBackoff(ofNanos(1), ofNanos(1));
        WebClient client = client(RateLimitExchangeFilter.of(limiter).withRetry(brisk));

        assertThat(client.get()
                        .uri("/endless")
                        .retrieve()
                        .bodyToMono(String.class)
                        .block(PATIENCE))
                .isEqualTo("yes");

        awaitFree(limiter);
        Await.until("nobody reads the refusal", () -> stream.currentSubscriberCount() == 0);
    }

    @Test
    void lastRefusalCanBeReadAsIfThereWereNoRetries() {
        refusalsLeft.set(3);
        RateLimitRetry brisk = RateLimitRetry.atMost(1).withBackoff(ofNanos(1), ofNanos(1));
        WebClient client = client(RateLimitExchangeFilter.of(one()).withRetry(brisk));

        assertThat(client.get()
                        .uri("/refused")
                        .exchangeToMono(answer -> answer.bodyToMono(String.class)
                                .map(body -> answer.statusCode().value() + " " + body))
                        .block(PATIENCE))
                .isEqualTo("429 no");

        assertThat(requests).hasValue(2);
    }
}
