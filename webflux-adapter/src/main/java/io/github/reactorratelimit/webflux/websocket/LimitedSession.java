package io.github.reactorratelimit.webflux.websocket;

import java.util.Map;
import java.util.function.Function;
import org.reactivestreams.Publisher;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DataBufferFactory;
import org.springframework.web.reactive.socket.CloseStatus;
import org.springframework.web.reactive.socket.HandshakeInfo;
import org.springframework.web.reactive.socket.WebSocketMessage;
import org.springframework.web.reactive.socket.WebSocketSession;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** A session that delivers the messages that a limit lets pass; the rest is the session's own. */
final class LimitedSession implements WebSocketSession {

    private final WebSocketSession session;
    private final Flux<WebSocketMessage> limited;

    LimitedSession(WebSocketSession session, Flux<WebSocketMessage> limited) {
        this.session = session;
        this.limited = limited;
    }

    @Override
    public Flux<WebSocketMessage> receive() {
        return limited;
    }

    @Override
    public String getId() {
        return session.getId();
    }

    @Override
    public HandshakeInfo getHandshakeInfo() {
        return session.getHandshakeInfo();
    }

    @Override
    public DataBufferFactory bufferFactory() {
        return session.bufferFactory();
    }

    @Override
    public Map<String, Object> getAttributes() {
        return session.getAttributes();
    }

    @Override
    public Mono<Void> send(Publisher<WebSocketMessage> messages) {
        return session.send(messages);
    }

    @Override
    public boolean isOpen() {
        return session.isOpen();
    }

    @Override
    public Mono<Void> close(CloseStatus status) {
        return session.close(status);
    }

    @Override
    public Mono<CloseStatus> closeStatus() {
        return session.closeStatus();
    }

    @Override
    public WebSocketMessage textMessage(String payload) {
        return session.textMessage(payload);
    }

    @Override
    public WebSocketMessage binaryMessage(Function<DataBufferFactory, DataBuffer> payload) {
        return session.binaryMessage(payload);
    }

    @Override
    public WebSocketMessage pingMessage(Function<DataBufferFactory, DataBuffer> payload) {
        return session.pingMessage(payload);
    }

    @Override
    public WebSocketMessage pongMessage(Function<DataBufferFactory, DataBuffer> payload) {
        return session.pongMessage(payload);
    }
}
