package io.github.reactorratelimit.examples;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.webflux.key.WebKeys;
import io.github.reactorratelimit.webflux.websocket.ExcessMessages;
import io.github.reactorratelimit.webflux.websocket.WebSocketLimits;
import java.net.URI;
import org.springframework.http.HttpHeaders;
import org.springframework.http.server.reactive.ReactorHttpHandlerAdapter;
import org.springframework.web.reactive.socket.WebSocketHandler;
import org.springframework.web.reactive.socket.WebSocketMessage;
import org.springframework.web.reactive.socket.WebSocketSession;
import org.springframework.web.reactive.socket.client.ReactorNettyWebSocketClient;
import org.springframework.web.reactive.socket.server.WebSocketService;
import org.springframework.web.reactive.socket.server.support.HandshakeWebSocketService;
import org.springframework.web.server.adapter.WebHttpHandlerBuilder;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;

/** A chat that echoes: each user may have one connection at a time, and send three messages an hour. */
public final class WebSocketMessages {

    private static final WebSocketLimits LIMITS = WebSocketLimits.none()
            .withConnections(RateLimiter.of(ConcurrencyLimit.of(1)))
            .withMessages(RateLimiter.of(TokenBucket.perHour(3)), ExcessMessages.close());

    private final URI uri;

    private WebSocketMessages(int port) {
        this.uri = URI.create("ws://127.0.0.1:" + port + "/chat");
    }

    private static DisposableServer serve() {
        WebSocketService limited = LIMITS.limit(new HandshakeWebSocketService(), WebKeys.apiKey("X-Api-Key"));
        WebSocketHandler echo = session ->
                session.send(session.receive().map(message -> session.textMessage(message.getPayloadAsText())));
        return HttpServer.create()
                .host("127.0.0.1")
                .port(0)
                .handle(new ReactorHttpHandlerAdapter(
                        WebHttpHandlerBuilder.webHandler(exchange -> limited.handleRequest(exchange, echo))
                                .build()))
                .bindNow();
    }

    private Mono<Void> connect(String user, WebSocketHandler client) {
        HttpHeaders headers = new HttpHeaders();
        headers.set("X-Api-Key", user);
        return new ReactorNettyWebSocketClient().execute(uri, headers, client);
    }

    private static Mono<Void> say(WebSocketSession session, String... messages) {
        return session.send(Flux.just(messages).map(session::textMessage));
    }

    private static Flux<String> echoes(WebSocketSession session) {
        return session.receive()
                .map(WebSocketMessage::getPayloadAsText)
                .doOnNext(text -> System.out.println("  " + text));
    }

    private static Mono<Void> untilClosed(WebSocketSession session) {
        return echoes(session)
                .then(session.closeStatus())
                .doOnNext(status -> System.out.println("  closed: " + status.getCode() + " " + status.getReason()))
                .then();
    }

    /**
     * Runs the example.
     *
     * @param args ignored
     */
    public static void main(String[] args) {
        DisposableServer server = serve();
        WebSocketMessages chat = new WebSocketMessages(server.port());

        System.out.println("alice connects, and once more");
        Mono<Void> again = chat.connect("alice", WebSocketMessages::untilClosed);
        chat.connect(
                        "alice",
                        first -> say(first, "hello").and(echoes(first).concatMap(echo -> again.then(first.close()))))
                .block();
        System.out.println("bob says four things");
        chat.connect(
                        "bob",
                        session -> say(session, "one", "two", "three", "four").and(untilClosed(session)))
                .block();
        server.disposeNow();
    }
}
