package io.github.reactorratelimit.webflux.websocket;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.webflux.key.WebKey;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.springframework.web.reactive.socket.WebSocketHandler;
import org.springframework.web.reactive.socket.WebSocketSession;
import org.springframework.web.reactive.socket.server.WebSocketService;
import reactor.core.publisher.Mono;

/**
 * Limits of WebSockets: how many connections a key holds at a time, and how many messages it sends.
 *
 * <pre>{@code
 * WebSocketLimits limits = WebSocketLimits.none()
 *         .withConnections(RateLimiter.of(ConcurrencyLimit.of(5)))
 *         .withMessages(RateLimiter.of(TokenBucket.perSecond(20)), ExcessMessages.close());
 * new WebSocketHandlerAdapter(limits.limit(new HandshakeWebSocketService(), WebKeys.clientAddress()));
 * }</pre>
 *
 * <p>A connection that is one too many, or has no key or an empty one, is accepted and closed at once with status 1008: a browser tells its
 * page about that, while it hides the status of a refused handshake. One whose key does not come {@linkplain #withKeyTimeout in time} is closed with
 * status 1013. All connections of a key share one limit of messages.
 */
public final class WebSocketLimits {

    private static final Duration DEFAULT_KEY_TIMEOUT = Duration.ofSeconds(5);

    private final @Nullable RateLimiter connections;
    private final @Nullable RateLimiter messages;
    private final ExcessMessages excess;
    private final Duration keyTimeout;

    private WebSocketLimits(
            @Nullable RateLimiter connections,
            @Nullable RateLimiter messages,
            ExcessMessages excess,
            Duration keyTimeout) {
        this.connections = connections;
        this.messages = messages;
        this.excess = excess;
        this.keyTimeout = keyTimeout;
    }

    /** No limits yet. */
    public static WebSocketLimits none() {
        return new WebSocketLimits(null, null, ExcessMessages.close(), DEFAULT_KEY_TIMEOUT);
    }

    /**
     * A key holds at most as many connections as the limiter allows. A connection counts until it is closed or its handler has
     * ended.
     *
     * @throws IllegalArgumentException if the limiter's policy is not a {@link ConcurrencyLimit}
     */
    public WebSocketLimits withConnections(RateLimiter limiter) {
        if (!limiter.policy().needsRelease()) {
            throw new IllegalArgumentException(
                    "connections need a ConcurrencyLimit, limiter '" + limiter.name() + "' has " + limiter.policy());
        }
        return new WebSocketLimits(limiter, messages, excess, keyTimeout);
    }

    /**
     * Each message that a client sends costs a permit of the limiter.
     *
     * @throws IllegalArgumentException if the limiter's policy is a {@link ConcurrencyLimit}
     */
    public WebSocketLimits withMessages(RateLimiter limiter, ExcessMessages excess) {
        if (limiter.policy().needsRelease()) {
            throw new IllegalArgumentException(
                    "messages need a rate, limiter '" + limiter.name() + "' has " + limiter.policy());
        }
        return new WebSocketLimits(connections, limiter, Objects.requireNonNull(excess, "excess"), keyTimeout);
    }

    /**
     * How long the key of a connection may take to be found; then it is closed with status 1013. 5 seconds, unless given.
     *
     * @throws IllegalArgumentException if it is not above zero
     */
    public WebSocketLimits withKeyTimeout(Duration keyTimeout) {
        if (keyTimeout.isZero() || keyTimeout.isNegative()) {
            throw new IllegalArgumentException("keyTimeout must be positive, was " + keyTimeout);
        }
        return new WebSocketLimits(connections, messages, excess, keyTimeout);
    }

    /** Limits all handlers of a service by the key of the request that opens the connection. */
    public WebSocketService limit(WebSocketService service, WebKey key) {
        Objects.requireNonNull(service, "service");
        Objects.requireNonNull(key, "key");
        return (exchange, handler) -> limited(handler, key.resolve(exchange))
                .flatMap(limited -> service.handleRequest(exchange, like(handler, limited)));
    }

    /**
     * Limits one handler.
     *
     * @param key of a connection; one without is closed
     */
    public WebSocketHandler limit(WebSocketHandler handler, Function<WebSocketSession, Mono<String>> key) {
        Objects.requireNonNull(handler, "handler");
        Objects.requireNonNull(key, "key");
        return like(
                handler, session -> limited(handler, key.apply(session)).flatMap(limited -> limited.handle(session)));
    }

    /** What handles a connection, once its key is known, missing or too late. An empty key is none: a client may send an empty header. */
    private Mono<WebSocketHandler> limited(WebSocketHandler handler, Mono<String> key) {
        return key.filter(name -> !name.isEmpty())
                .<WebSocketHandler>map(name ->
                        session -> new LimitedConnection(session, name).handle(handler, connections, messages, excess))
                .defaultIfEmpty(LimitedConnection::refuse)
                .timeout(keyTimeout, Mono.just(LimitedConnection::refuseForNow));
    }

    private static WebSocketHandler like(WebSocketHandler handler, WebSocketHandler limited) {
        return new WebSocketHandler() {
            @Override
            public List<String> getSubProtocols() {
                return handler.getSubProtocols();
            }

            @Override
            public Mono<Void> handle(WebSocketSession session) {
                return limited.handle(session);
            }
        };
    }

    @Override
    public String toString() {
        return "WebSocketLimits(connections: " + policyOf(connections) + ", messages: " + policyOf(messages) + " "
                + excess + ")";
    }

    private static String policyOf(@Nullable RateLimiter limiter) {
        return limiter == null ? "unlimited" : limiter.policy().toString();
    }
}
