package io.github.reactorratelimit.examples.browser;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Chromium's DevTools protocol over two pipes: each message is JSON, ended by a zero byte. Pipes have neither ports nor
 * handshakes, and their end is the end of the browser. Whatever ends the conversation, also a listener that throws, is what every call
 * from then on fails with, together with what the browser said last.
 */
final class DevTools {

    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final long PATIENCE_SECONDS = 120;

    private final AtomicInteger ids = new AtomicInteger();
    private final Map<Integer, CompletableFuture<JsonNode>> answers = new ConcurrentHashMap<>();
    private final List<BiConsumer<String, JsonNode>> listeners = new CopyOnWriteArrayList<>();
    private final CompletableFuture<JsonNode> end = new CompletableFuture<>();
    private final InputStream fromBrowser;
    private final OutputStream toBrowser;
    private final Supplier<String> lastWords;

    DevTools(InputStream fromBrowser, OutputStream toBrowser, Supplier<String> lastWords) {
        this.fromBrowser = new BufferedInputStream(fromBrowser);
        this.toBrowser = toBrowser;
        this.lastWords = lastWords;
        Thread reader = new Thread(this::readAll, "devtools");
        reader.setDaemon(true);
        reader.start();
    }

    private void readAll() {
        try {
            ByteArrayOutputStream message = new ByteArrayOutputStream();
            for (int next = fromBrowser.read(); next >= 0; next = fromBrowser.read()) {
                if (next != 0) {
                    message.write(next);
                } else {
                    take(JSON.readTree(message.toByteArray()));
                    message.reset();
                }
            }
            end.completeExceptionally(new EOFException("the browser has ended"));
        } catch (IOException | RuntimeException | Error failed) {
            end.completeExceptionally(failed);
        }
    }

    private void take(JsonNode message) {
        if (message.has("id")) {
            CompletableFuture<JsonNode> answer =
                    answers.remove(message.get("id").asInt());
            if (answer != null) {
                answer.complete(message);
            }
        } else {
            listeners.forEach(listener -> listener.accept(message.path("method").asString(""), message));
        }
    }

    /** Told of every event: its method, and the whole message. */
    void listen(BiConsumer<String, JsonNode> listener) {
        listeners.add(listener);
    }

    /** What the browser answers; without a session it is the browser itself that is called. One call at a time. */
    synchronized JsonNode call(String session, String method, Map<String, ?> parameters) {
        int id = ids.incrementAndGet();
        CompletableFuture<JsonNode> answer = new CompletableFuture<>();
        answers.put(id, answer);
        Map<String, Object> message = new HashMap<>(Map.of("id", id, "method", method, "params", parameters));
        if (session != null) {
            message.put("sessionId", session);
        }
        JsonNode answered = send(method, JSON.writeValueAsBytes(message), answer);
        if (answered.has("error")) {
            throw new AssertionError(method + ": " + answered.get("error"));
        }
        return answered.get("result");
    }

    private JsonNode send(String method, byte[] message, CompletableFuture<JsonNode> answer) {
        try {
            toBrowser.write(message);
            toBrowser.write(0);
            toBrowser.flush();
            return (JsonNode) CompletableFuture.anyOf(answer, end)
                    .orTimeout(PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .join();
        } catch (IOException | CompletionException failed) {
            throw new IllegalStateException(method + " got no answer. The browser said: " + lastWords.get(), failed);
        }
    }
}
