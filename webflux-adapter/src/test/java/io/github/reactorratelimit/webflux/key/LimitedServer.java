package io.github.reactorratelimit.webflux.key;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.function.UnaryOperator;
import org.springframework.http.HttpStatus;
import org.springframework.http.server.reactive.ReactorHttpHandlerAdapter;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.adapter.WebHttpHandlerBuilder;
import org.springframework.web.server.handler.ResponseStatusExceptionHandler;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;

/**
 * A real server on a real port that allows each key {@link #LIMIT} requests in 300 days: 200 and the key, then 429; 403 without a
 * key. Requests are written to a socket as they are: a client library would make them well-formed.
 */
final class LimitedServer implements AutoCloseable {

    static final int LIMIT = 3;

    private static final int SOCKET_TIMEOUT_MILLIS = 120_000;
    private static final int MAX_HEADER_BYTES = 1 << 20;

    private final RateLimiter limiter = RateLimiter.of(TokenBucket.of(LIMIT, Duration.ofDays(300)));
    private final DisposableServer server;

    LimitedServer(WebKey key) {
        this(key, UnaryOperator.identity(), UnaryOperator.identity());
    }

    LimitedServer(WebKey key, UnaryOperator<HttpServer> netty, UnaryOperator<WebHttpHandlerBuilder> spring) {
        WebHttpHandlerBuilder builder = WebHttpHandlerBuilder.webHandler(exchange -> key.resolve(exchange)
                        .flatMap(found -> limiter.tryAcquire(found)
                                .flatMap(decision -> answer(
                                        exchange,
                                        decision.allowed() ? HttpStatus.OK : HttpStatus.TOO_MANY_REQUESTS,
                                        found)))
                        .switchIfEmpty(Mono.defer(() -> answer(exchange, HttpStatus.FORBIDDEN, "")))
                        .then())
                .exceptionHandler(new ResponseStatusExceptionHandler());
        this.server = netty.apply(HttpServer.create()
                        .host("127.0.0.1")
                        .port(0)
                        .httpRequestDecoder(
                                spec -> spec.maxHeaderSize(MAX_HEADER_BYTES).maxInitialLineLength(MAX_HEADER_BYTES)))
                .handle(new ReactorHttpHandlerAdapter(spring.apply(builder).build()))
                .bindNow();
    }

    /** Emits something, because an empty Mono would mean that there is no key. */
    private static Mono<Boolean> answer(ServerWebExchange exchange, HttpStatus status, String body) {
        exchange.getResponse().setStatusCode(status);
        return exchange.getResponse()
                .writeWith(Mono.fromSupplier(
                        () -> exchange.getResponse().bufferFactory().wrap(body.getBytes(StandardCharsets.UTF_8))))
                .thenReturn(true);
    }

    record Answer(int status, String body) {}

    /**
     * Sends a request.
     *
     * @param head its first line and header lines, each but the last with its end; characters are bytes
     */
    Answer send(String head) throws IOException {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
            socket.setSoTimeout(SOCKET_TIMEOUT_MILLIS);
            String request = head + "\r\nHost: example.org\r\nConnection: close\r\n\r\n";
            socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
            socket.getOutputStream().flush();
            return answerFrom(socket.getInputStream());
        }
    }

    private static Answer answerFrom(InputStream in) throws IOException {
        String response = new String(in.readAllBytes(), StandardCharsets.UTF_8);
        int body = response.indexOf("\r\n\r\n");
        if (!response.startsWith("HTTP/1.1 ") || body < 0) {
            throw new IOException("not a response: '" + response + "'");
        }
        return new Answer(Integer.parseInt(response, 9, 12, 10), response.substring(body + 4));
    }

    @Override
    public void close() {
        server.disposeNow(Duration.ofMinutes(2));
        limiter.dispose();
    }
}
