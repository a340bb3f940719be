package io.github.reactorratelimit.examples.browser;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Chromium's DevTools protocol over the JDK's own WebSocket. */
final class DevTools {

    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final long PATIENCE_SECONDS = 120;

    private final AtomicInteger ids = new AtomicInteger();
    private final Map<Integer, CompletableFuture<JsonNode>> answers = new ConcurrentHashMap<>();
    private final List<BiConsumer<String, JsonNode>> listeners = new CopyOnWriteArrayList<>();
    private final WebSocket socket;

    private DevTools(URI endpoint) {
        this.socket = HttpClient.newHttpClient()
                .newWebSocketBuilder()
                .buildAsync(endpoint, new Reader())
                .join();
    }

    static DevTools connect(URI endpoint) {
        return new DevTools(endpoint);
    }

    private final class Reader implements WebSocket.Listener {

        private final StringBuilder begun = new StringBuilder();

        @Override
        public CompletionStage<?> onText(WebSocket from, CharSequence data, boolean last) {
            begun.append(data);
            if (last) {
                String message = begun.toString();
                begun.setLength(0);
                take(JSON.readTree(message));
            }
            from.request(1);
            return null;
        }
    }

    private void take(JsonNode message) {
        if (message.has("id")) {
            answers.remove(message.get("id").asInt()).complete(message);
        } else {
            listeners.forEach(listener -> listener.accept(message.path("method").asString(), message));
        }
    }

    /** Told of every event: its method, and the whole message. */
    void listen(BiConsumer<String, JsonNode> listener) {
        listeners.add(listener);
    }

    /** What the browser answers; one who is not there is null. One call at a time. */
    synchronized JsonNode call(String session, String method, Map<String, ?> parameters) {
        int id = ids.incrementAndGet();
        CompletableFuture<JsonNode> answer = new CompletableFuture<>();
        answers.put(id, answer);
        Map<String, Object> message = new HashMap<>(Map.of("id", id, "method", method, "params", parameters));
        if (session != null) {
            message.put("sessionId", session);
        }
        socket.sendText(JSON.writeValueAsString(message), true).join();
        JsonNode answered = answer.orTimeout(PATIENCE_SECONDS, TimeUnit.SECONDS).join();
        if (answered.has("error")) {
            throw new AssertionError(method + ": " + answered.get("error"));
        }
        return answered.get("result");
    }

    void close() {
        socket.abort();
    }
}
