package io.github.reactorratelimit.webflux.websocket;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.operator.LimitSpec;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.core.io.buffer.CloseableDataBuffer;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DefaultDataBufferFactory;
import org.springframework.web.reactive.socket.CloseStatus;
import org.springframework.web.reactive.socket.WebSocketHandler;
import org.springframework.web.reactive.socket.WebSocketMessage;
import org.springframework.web.reactive.socket.WebSocketSession;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** One connection of a key: holds its lease, and counts its messages. */
final class LimitedConnection {

    private static final CloseStatus EXCEEDED = CloseStatus.POLICY_VIOLATION.withReason("rate limit exceeded");

    private final WebSocketSession session;
    private final String key;

    LimitedConnection(WebSocketSession session, String key) {
        this.session = session;
        this.key = key;
    }

    static Mono<Void> refuseForNow(WebSocketSession session) {
        return session.close(CloseStatus.SERVICE_OVERLOAD);
    }

    static Mono<Void> refuse(WebSocketSession session) {
        return session.close(EXCEEDED);
    }

    Mono<Void> handle(
            WebSocketHandler handler,
            @Nullable RateLimiter connections,
            @Nullable RateLimiter messages,
            ExcessMessages excess) {
        WebSocketSession seen = messages == null ? session : new LimitedSession(session, limited(messages, excess));
        return connections == null ? handler.handle(seen) : leased(connections, handler, seen);
    }

    /**
     * The connection is refused only if the lease is: what a handler fails with passes through, also if it is of the same kind.
     */
    private Mono<Void> leased(RateLimiter connections, WebSocketHandler handler, WebSocketSession seen) {
        Mono<Lease> lease = connections.acquireLease(key, 1, Duration.ZERO);
        return Mono.usingWhen(
                        lease.map(Held::new)
                                .onErrorResume(RateLimitExceededException.class, denied -> Mono.just(Held.NOTHING)),
                        held -> held.lease() == null ? refuse(session) : whileOpen(held.lease(), handler, seen),
                        Held::release)
                .then();
    }

    /** A handler may go on after its client has left; the connection is gone then, and so is what it held. */
    private Mono<Void> whileOpen(Lease lease, WebSocketHandler handler, WebSocketSession seen) {
        return Mono.defer(() -> {
            session.closeStatus().onErrorComplete().then(lease.release()).subscribe();
            return handler.handle(seen);
        });
    }

    /** Permits of one connection, or none: a denial is not an error to the operator that releases them. */
    private record Held(@Nullable Lease lease) {

        static final Held NOTHING = new Held(null);

        Mono<Void> release() {
            return lease == null ? Mono.empty() : lease.release();
        }
    }

    /**
     * A denied message becomes an empty element, at which the connection is closed before anything upstream is cancelled:
     * servers answer that with a close of their own, which does not say why.
     */
    private Flux<WebSocketMessage> limited(RateLimiter messages, ExcessMessages excess) {
        return session.receive()
                .map(message -> Optional.of(copied(message)))
                .transform(limitRate(
                        messages,
                        (LimitSpec<Optional<WebSocketMessage>> spec) -> excess.kind() == ExcessMessages.Kind.DROP
                                ? spec.key(key).drop()
                                : spec.key(key)
                                        .maxWait(excess.maxWait())
                                        .fallback((message, denial) -> Optional.empty())))
                .concatMap(
                        passed -> passed.isPresent()
                                ? Mono.just(passed)
                                : refuse(session).thenReturn(passed),
                        0)
                .takeWhile(Optional::isPresent)
                .map(Optional::orElseThrow);
    }

    /**
     * A message outlives the call that delivers it while the store is asked or the message waits, but its buffer belongs to the
     * server, which takes it back after the call; or, if it is closeable, when it is closed.
     */
    private static WebSocketMessage copied(WebSocketMessage message) {
        DataBuffer payload = message.getPayload();
        ByteBuffer copy = ByteBuffer.allocate(payload.readableByteCount());
        payload.toByteBuffer(copy);
        if (payload instanceof CloseableDataBuffer closeable) {
            closeable.close();
        }
        return new WebSocketMessage(message.getType(), DefaultDataBufferFactory.sharedInstance.wrap(copy));
    }
}
