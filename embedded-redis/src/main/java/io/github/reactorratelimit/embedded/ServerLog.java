package io.github.reactorratelimit.embedded;

import java.io.BufferedReader;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** What a server says: that it is ready, and why it is not. Read on a thread of its own, which ends with the server. */
final class ServerLog {

    private static final long PATIENCE_SECONDS = 30;
    private static final int LINES_KEPT = 20;

    private final Deque<String> last = new ArrayDeque<>();
    private final CompletableFuture<Void> ready = new CompletableFuture<>();
    private final CompletableFuture<Void> clusterWhole = new CompletableFuture<>();

    private ServerLog() {}

    static ServerLog follow(Process server) {
        ServerLog log = new ServerLog();
        Thread reader = new Thread(() -> log.readAll(server), "redis-log-" + server.pid());
        reader.setDaemon(true);
        reader.start();
        return log;
    }

    /** Returns once connections are accepted. */
    void awaitReady() {
        await(ready);
    }

    /** Returns once the node serves, with those it knows, all slots. */
    void awaitWholeCluster() {
        await(clusterWhole);
    }

    private void readAll(Process server) {
        try (BufferedReader lines = server.inputReader()) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                take(line);
            }
        } catch (IOException killed) {
            take(killed.toString());
        } finally {
            IllegalStateException ended = new IllegalStateException("the server has ended");
            ready.completeExceptionally(ended);
            clusterWhole.completeExceptionally(ended);
        }
    }

    private void take(String line) {
        synchronized (last) {
            last.add(line);
            if (last.size() > LINES_KEPT) {
                last.remove();
            }
        }
        if (line.contains("eady to accept connections")) {
            ready.complete(null);
        } else if (line.contains("Cluster state changed: ok")) {
            clusterWhole.complete(null);
        }
    }

    private void await(CompletableFuture<Void> awaited) {
        try {
            awaited.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while Redis starts", interrupted);
        } catch (ExecutionException | TimeoutException failed) {
            throw new IllegalStateException("Redis does not start. It said:\n" + lastLines(), failed);
        }
    }

    private String lastLines() {
        synchronized (last) {
            return String.join("\n", last);
        }
    }
}
