package io.github.reactorratelimit.webflux.websocket;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.webflux.key.WebKeys;
import java.lang.reflect.Proxy;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.core.io.buffer.DefaultDataBufferFactory;
import org.springframework.http.HttpHeaders;
import org.springframework.http.server.reactive.ReactorHttpHandlerAdapter;
import org.springframework.web.reactive.socket.CloseStatus;
import org.springframework.web.reactive.socket.WebSocketHandler;
import org.springframework.web.reactive.socket.WebSocketMessage;
import org.springframework.web.reactive.socket.WebSocketSession;
import org.springframework.web.reactive.socket.client.ReactorNettyWebSocketClient;
import org.springframework.web.reactive.socket.server.WebSocketService;
import org.springframework.web.reactive.socket.server.support.HandshakeWebSocketService;
import org.springframework.web.reactive.socket.server.upgrade.ReactorNettyRequestUpgradeStrategy;
import org.springframework.web.server.adapter.WebHttpHandlerBuilder;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;
import reactor.test.StepVerifier;
import reactor.test.publisher.TestPublisher;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Over a real server and client. Nothing here depends on how long anything takes: limits refill in days or in virtual time. */
class WebSocketLimitsTest {

    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final Duration FOR_EVER = Duration.ofDays(300);
    private static final String KEY = "alice";

    private final BlockingQueue<String> received = new LinkedBlockingQueue<>();
    private final CompletableFuture<Void> handlerEnded = new CompletableFuture<>();
    private final List<Client> clients = new ArrayList<>();
    private DisposableServer server;

    @AfterEach
    void stop() {
        clients.forEach(Client::dispose);
        if (server != null) {
            server.disposeNow(PATIENCE);
        }
    }

    /** Notes what it receives and sends it back. */
    private Mono<Void> echo(WebSocketSession session) {
        return session.send(session.receive()
                        .map(WebSocketMessage::getPayloadAsText)
                        .doOnNext(received::add)
                        .map(session::textMessage))
                .doFinally(end -> handlerEnded.complete(null));
    }

    private static WebSocketService service() {
        return new HandshakeWebSocketService(new ReactorNettyRequestUpgradeStrategy());
    }

    private void serve(WebSocketLimits limits, WebSocketHandler handler) {
        serve(service(), limits.limit(handler, session -> Mono.just(KEY)));
    }

    private void serve(WebSocketService service, WebSocketHandler handler) {
        server = HttpServer.create()
                .host("127.0.0.1")
                .port(0)
                .handle(new ReactorHttpHandlerAdapter(
                        WebHttpHandlerBuilder.webHandler(exchange -> service.handleRequest(exchange, handler))
                                .build()))
                .bindNow();
    }

    /** A client that sends what it is told and notes what comes back. */
    private final class Client implements Disposable {

        final Sinks.Many<String> toSend = Sinks.many().unicast().onBackpressureBuffer();
        final BlockingQueue<String> echoes = new LinkedBlockingQueue<>();
        final CompletableFuture<WebSocketSession> opened = new CompletableFuture<>();
        final CompletableFuture<CloseStatus> closed = new CompletableFuture<>();
        private final Disposable connection;

        Client(String apiKey) {
            HttpHeaders headers = new HttpHeaders();
            headers.set("X-Api-Key", apiKey);
            connection = new ReactorNettyWebSocketClient()
                    .execute(URI.create("ws://127.0.0.1:" + server.port() + "/"), headers, this::talk)
                    .subscribe(nothing -> {}, closed::completeExceptionally);
            clients.add(this);
        }

        private Mono<Void> talk(WebSocketSession session) {
            opened.complete(session);
            session.closeStatus().subscribe(closed::complete, closed::completeExceptionally);
            Mono<Void> reading = session.receive()
                    .map(WebSocketMessage::getPayloadAsText)
                    .doOnNext(echoes::add)
                    .then();
            return session.send(toSend.asFlux().map(session::textMessage)).and(reading);
        }

        void send(String message) {
            toSend.tryEmitNext(message).orThrow();
        }

        String echo() throws InterruptedException {
            return echoes.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        }

        int closeCode() throws Exception {
            return closed.get(PATIENCE.toSeconds(), TimeUnit.SECONDS).getCode();
        }

        void close() throws Exception {
            opened.get(PATIENCE.toSeconds(), TimeUnit.SECONDS)
                    .close(CloseStatus.NORMAL)
                    .block(PATIENCE);
        }

        @Override
        public void dispose() {
            connection.dispose();
        }
    }

    private Client connect() {
        return new Client("none");
    }

    private static RateLimiter threeMessages() {
        return RateLimiter.of(TokenBucket.of(3, FOR_EVER));
    }

    /** The client waits for each echo, so that nothing is under way when the server closes the connection. */
    @Test
    void messageBeyondTheLimitClosesTheConnection() throws Exception {
        serve(WebSocketLimits.none().withMessages(threeMessages(), ExcessMessages.close()), this::echo);
        Client client = connect();
        for (String message : List.of("1", "2", "3")) {
            client.send(message);
            assertThat(client.echo()).isEqualTo(message);
        }
        client.send("4");

        assertThat(client.closeCode()).isEqualTo(CloseStatus.POLICY_VIOLATION.getCode());
        handlerEnded.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        assertThat(received).containsExactly("1", "2", "3");
    }

    @Test
    void messagesBeyondTheLimitAreDroppedAndTheConnectionGoesOn() throws Exception {
        CountDownLatch twoDenied = new CountDownLatch(2);
        RateLimiter limiter = RateLimiter.builder(TokenBucket.of(3, FOR_EVER))
                .keyRecorder((key, allowed, permits) -> {
                    if (!allowed) {
                        twoDenied.countDown();
                    }
                })
                .build();
        serve(WebSocketLimits.none().withMessages(limiter, ExcessMessages.drop()), this::echo);
        Client client = connect();
        List.of("1", "2", "3", "4", "5").forEach(client::send);
        assertThat(twoDenied.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();

        limiter.reset(KEY).block();
        client.send("6");

        for (String message : List.of("1", "2", "3", "6")) {
            assertThat(client.echo()).isEqualTo(message);
        }
        assertThat(received).containsExactly("1", "2", "3", "6");
    }

    @Test
    void connectionsOfOneKeyShareItsMessages() throws Exception {
        serve(WebSocketLimits.none().withMessages(threeMessages(), ExcessMessages.close()), this::echo);
        Client one = connect();
        Client other = connect();
        one.send("1");
        assertThat(one.echo()).isEqualTo("1");
        other.send("2");
        assertThat(other.echo()).isEqualTo("2");
        one.send("3");
        assertThat(one.echo()).isEqualTo("3");
        other.send("4");

        assertThat(other.closeCode()).isEqualTo(CloseStatus.POLICY_VIOLATION.getCode());
        assertThat(received).containsExactly("1", "2", "3");
    }

    /** Time is moved until the message is there: its timer may be set at any moment after the wait has begun. */
    @Test
    void messageBeyondTheLimitWaitsAndIsWhole() throws Exception {
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        CountDownLatch waiting = new CountDownLatch(1);
        RateLimiter limiter = RateLimiter.builder(TokenBucket.of(1, Duration.ofHours(1)))
                .scheduler(time)
                .recorder(new RateLimitRecorder() {
                    @Override
                    public void queueChanged(int change) {
                        waiting.countDown();
                    }
                })
                .build();
        serve(WebSocketLimits.none().withMessages(limiter, ExcessMessages.delay(Duration.ofHours(2))), this::echo);
        Client client = connect();
        talk(client, "first");
        client.send("second");
        assertThat(waiting.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        assertThat(received).containsExactly("first");

        String echo = null;
        for (int i = 0; echo == null && i < 10 * PATIENCE.toSeconds(); i++) {
            time.advanceTimeBy(Duration.ofHours(1));
            echo = client.echoes.poll(100, TimeUnit.MILLISECONDS);
        }

        assertThat(echo).isEqualTo("second");
    }

    private static WebSocketSession sessionThatReceives(Flux<WebSocketMessage> messages) {
        return (WebSocketSession) Proxy.newProxyInstance(
                WebSocketSession.class.getClassLoader(),
                new Class<?>[] {WebSocketSession.class},
                (proxy, method, arguments) -> method.getName().equals("receive") ? messages : null);
    }

    @Test
    void messageThatWaitsIsNotChangedWhenTheServerUsesItsBufferAgain() {
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        RateLimiter limiter = RateLimiter.builder(TokenBucket.of(1, Duration.ofHours(1)))
                .scheduler(time)
                .build();
        WebSocketHandler limited = WebSocketLimits.none()
                .withMessages(limiter, ExcessMessages.delay(Duration.ofHours(2)))
                .limit(
                        session -> session.receive()
                                .map(WebSocketMessage::getPayloadAsText)
                                .doOnNext(received::add)
                                .then(),
                        session -> Mono.just(KEY));
        TestPublisher<WebSocketMessage> messages = TestPublisher.create();
        limited.handle(sessionThatReceives(messages.flux())).subscribe();
        for (String text : List.of("first", "second")) {
            byte[] buffer = text.getBytes(StandardCharsets.UTF_8);
            messages.next(new WebSocketMessage(
                    WebSocketMessage.Type.TEXT, DefaultDataBufferFactory.sharedInstance.wrap(buffer)));
            Arrays.fill(buffer, (byte) 'x');
        }
        assertThat(received).containsExactly("first");

        time.advanceTimeBy(Duration.ofHours(1));

        assertThat(received).containsExactly("first", "second");
    }

    @Test
    void messageThatWouldWaitTooLongClosesTheConnection() throws Exception {
        RateLimiter limiter = RateLimiter.of(TokenBucket.of(1, FOR_EVER));
        serve(WebSocketLimits.none().withMessages(limiter, ExcessMessages.delay(Duration.ofSeconds(1))), this::echo);
        Client client = connect();
        client.send("first");
        assertThat(client.echo()).isEqualTo("first");
        client.send("second");

        assertThat(client.closeCode()).isEqualTo(CloseStatus.POLICY_VIOLATION.getCode());
        assertThat(received).containsExactly("first");
    }

    private void talk(Client client, String message) throws InterruptedException {
        client.send(message);
        assertThat(client.echo()).isEqualTo(message);
    }

    @Test
    void connectionBeyondTheLimitIsClosedAndAClosedOneCountsNoMore() throws Exception {
        RateLimiter limiter = RateLimiter.of(ConcurrencyLimit.of(2));
        serve(WebSocketLimits.none().withConnections(limiter), this::echo);
        Client one = connect();
        Client two = connect();
        talk(one, "1");
        talk(two, "2");

        assertThat(connect().closeCode()).isEqualTo(CloseStatus.POLICY_VIOLATION.getCode());
        talk(one, "still open");

        one.close();
        Lease freed = limiter.acquireLease(KEY, 1, PATIENCE).block();
        assertThat(connect().closeCode()).isEqualTo(CloseStatus.POLICY_VIOLATION.getCode());
        freed.release().block();
        talk(connect(), "3");
    }

    @Test
    void connectionThatBreaksCountsNoMore() throws Exception {
        RateLimiter limiter = RateLimiter.of(ConcurrencyLimit.of(1));
        serve(WebSocketLimits.none().withConnections(limiter), this::echo);
        Client client = connect();
        talk(client, "1");

        client.dispose();

        assertThat(limiter.acquireLease(KEY, 1, PATIENCE).block()).isNotNull();
    }

    @Test
    void closedConnectionCountsNoMoreThoughItsHandlerGoesOn() throws Exception {
        RateLimiter limiter = RateLimiter.of(ConcurrencyLimit.of(1));
        CompletableFuture<Void> handling = new CompletableFuture<>();
        serve(
                WebSocketLimits.none().withConnections(limiter),
                session -> Mono.never().then().doOnSubscribe(subscription -> handling.complete(null)));
        Client client = connect();
        handling.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);

        client.close();

        assertThat(limiter.acquireLease(KEY, 1, PATIENCE).block()).isNotNull();
    }

    @Test
    void handlerThatEndsOrFailsFreesItsConnection() throws Exception {
        RateLimiter limiter = RateLimiter.of(ConcurrencyLimit.of(1));
        serve(WebSocketLimits.none().withConnections(limiter), session -> Mono.empty());
        connect().closed.handle((status, error) -> 0).get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        limiter.acquireLease(KEY, 1, PATIENCE).block().release().block();
    }

    @Test
    void serviceIsLimitedByTheKeyOfTheRequest() throws Exception {
        WebSocketLimits limits = WebSocketLimits.none().withConnections(RateLimiter.of(ConcurrencyLimit.of(1)));
        serve(limits.limit(service(), WebKeys.apiKey("X-Api-Key")), this::echo);
        Client alice = new Client("alice");
        Client bob = new Client("bob");
        talk(alice, "1");
        talk(bob, "2");

        assertThat(new Client("bob").closeCode()).isEqualTo(CloseStatus.POLICY_VIOLATION.getCode());
    }

    @Test
    void connectionWithoutKeyIsClosed() throws Exception {
        serve(WebSocketLimits.none().limit(service(), WebKeys.apiKey("X-Other")), this::echo);
        assertThat(connect().closeCode()).isEqualTo(CloseStatus.POLICY_VIOLATION.getCode());
        assertThat(received).isEmpty();
    }

    @Test
    void connectionWithAnEmptyKeyIsClosedAsOneWithout() throws Exception {
        serve(
                service(),
                WebSocketLimits.none()
                        .withConnections(RateLimiter.of(ConcurrencyLimit.of(1)))
                        .limit(this::echo, session -> Mono.just("")));
        assertThat(connect().closeCode()).isEqualTo(CloseStatus.POLICY_VIOLATION.getCode());
        assertThat(received).isEmpty();
    }

    @Test
    void connectionIsGivenTheTimeForItsKeyThatWasSaid() {
        List<CloseStatus> closed = new CopyOnWriteArrayList<>();
        WebSocketSession session = (WebSocketSession) Proxy.newProxyInstance(
                WebSocketSession.class.getClassLoader(),
                new Class<?>[] {WebSocketSession.class},
                (proxy, method, arguments) -> {
                    closed.add((CloseStatus) arguments[0]);
                    return Mono.empty();
                });
        WebSocketLimits patient = WebSocketLimits.none().withKeyTimeout(Duration.ofSeconds(7));
        StepVerifier.withVirtualTime(
                        () -> patient.limit(this::echo, opened -> Mono.never()).handle(session))
                .expectSubscription()
                .expectNoEvent(Duration.ofMillis(6_999))
                .thenAwait(Duration.ofMillis(1))
                .verifyComplete();
        assertThat(closed).containsExactly(CloseStatus.SERVICE_OVERLOAD);
    }

    @Test
    void keyTimeoutMustBePositive() {
        for (Duration wrong : List.of(Duration.ZERO, Duration.ofNanos(-1))) {
            assertThatThrownBy(() -> WebSocketLimits.none().withKeyTimeout(wrong))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("keyTimeout");
        }
    }

    @Test
    void connectionWhoseKeyDoesNotComeIsClosed() throws Exception {
        WebSocketLimits impatient = WebSocketLimits.none().withKeyTimeout(Duration.ofMillis(1));
        serve(impatient.limit(service(), exchange -> Mono.never()), this::echo);
        assertThat(connect().closeCode()).isEqualTo(CloseStatus.SERVICE_OVERLOAD.getCode());
        assertThat(received).isEmpty();
    }

    @Test
    void limitersOfTheWrongKindAreRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> WebSocketLimits.none().withConnections(threeMessages()))
                .withMessageStartingWith("connections need a ConcurrencyLimit, limiter ");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> WebSocketLimits.none()
                        .withMessages(RateLimiter.of(ConcurrencyLimit.of(1)), ExcessMessages.close()))
                .withMessageStartingWith("messages need a rate, limiter ");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ExcessMessages.delay(Duration.ZERO))
                .withMessage("maxWait must be positive, was PT0S");
    }
}
