package io.github.reactorratelimit.testing.redis;

import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.FreePorts;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One Redis process of our own on 127.0.0.1, with a port, a directory and a configuration file it keeps over restarts.
 * It persists no data: after a restart it is empty. It ends with the JVM, however that ends. Starting and ending it block; one thread at a time may
 * do so, {@link #isAlive()} may be called on any.
 */
public final class RedisServer implements AutoCloseable {

    private static final int LOG_LINES_SHOWN = 40;

    private final int port;
    private final Path directory;
    private final boolean sentinel;
    private volatile @Nullable Process process;

    private RedisServer(int port, boolean sentinel, List<String> directives) {
        this.port = port;
        this.sentinel = sentinel;
        this.directory = Workspace.newDirectory((sentinel ? "sentinel-" : "redis-") + port);
        List<String> lines = new ArrayList<>(List.of("port " + port, "bind 127.0.0.1", "dir " + directory));
        lines.addAll(directives);
        try {
            Files.write(directory.resolve("redis.conf"), lines);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A server that answers; each directive is a line of {@code redis.conf}, as {@code "maxmemory 2mb"}. */
    public static RedisServer start(String... directives) {
        return start(FreePorts.next(), List.of(directives));
    }

    static RedisServer start(int port, List<String> directives) {
        List<String> all = new ArrayList<>(List.of("save \"\"", "appendonly no", "repl-diskless-sync-delay 0"));
        all.addAll(directives);
        RedisServer server = new RedisServer(port, false, all);
        server.launch();
        return server;
    }

    static RedisServer startSentinel(int port, List<String> directives) {
        RedisServer server = new RedisServer(port, true, directives);
        server.launch();
        return server;
    }

    /** Its port, the same after a restart. */
    public int port() {
        return port;
    }

    /** Its address, with the harness' own timeout of 2 s. */
    public RedisURI uri() {
        return Clients.loopback(port);
    }

    /** Its address as text, as {@code redis://127.0.0.1:12345}. */
    public String address() {
        return "redis://127.0.0.1:" + port;
    }

    /** The processor time that it has used since its last start. */
    public Duration processorTime() {
        return running().info().totalCpuDuration().orElse(Duration.ZERO);
    }

    /** Its process id, another one after a restart. */
    public long pid() {
        return running().pid();
    }

    /** Whether the process lives, paused or not. */
    public boolean isAlive() {
        Process seen = process;
        return seen != null && seen.isAlive();
    }

    /** What it has written since its first start. */
    public Path log() {
        return directory.resolve("redis.log");
    }

    /** Asks the server on a new connection, which is closed again. */
    public <T> T ask(Function<RedisCommands<String, String>, T> question) {
        return Clients.ask(uri(), question);
    }

    /** {@link #ask} of a server that is up: however busy the machine is. */
    <T> T askPatiently(Function<RedisCommands<String, String>, T> question) {
        return Clients.askPatiently(uri(), question);
    }

    /** Ends it in good order, as SIGTERM does. */
    public void stop() {
        resume();
        Process ending = running();
        ending.destroy();
        awaitEnd(ending);
    }

    /** Ends it at once: {@code kill -9}. */
    public void kill() {
        awaitEnd(running().destroyForcibly());
    }

    /** Freezes it with SIGSTOP: the kernel still accepts connections, but none gets an answer. */
    public void pause() {
        signal("STOP");
    }

    /** Lets it go on after {@link #pause()}: it answers what has arrived meanwhile. */
    public void resume() {
        signal("CONT");
    }

    /** Starts it again, empty, on the same port; ends it first, at once, if it lives. */
    public void restart() {
        if (isAlive()) {
            kill();
        }
        launch();
    }

    /** Ends it for good, if it lives, and deletes its files. */
    @Override
    public void close() {
        if (isAlive()) {
            kill();
        }
        Workspace.delete(directory);
    }

    @Override
    public String toString() {
        return (sentinel ? "sentinel " : "redis ") + port + (isAlive() ? "" : " (down)");
    }

    private void launch() {
        List<String> command = new ArrayList<>();
        command.add(RedisBinary.path().toString());
        command.add(directory.resolve("redis.conf").toString());
        if (sentinel) {
            command.add("--sentinel");
        }
        try {
            Process started = new ProcessBuilder(command)
                    .directory(directory.toFile())
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(log().toFile()))
                    .start();
            process = started;
            Workspace.adopt(started);
            awaitAnswer();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot run " + command, e);
        }
    }

    private void awaitAnswer() throws IOException {
        try {
            Await.until(
                    "PING answered by " + this,
                    () -> !isAlive() || ask(RedisCommands::ping).equals("PONG"));
        } catch (AssertionError silent) {
            throw new IllegalStateException(this + " does not answer; its log ends so:\n" + logTail(), silent);
        }
        if (!isAlive()) {
            throw new IllegalStateException(this + " did not start; its log ends so:\n" + logTail());
        }
    }

    private void awaitEnd(Process ending) {
        try {
            if (!ending.waitFor(Await.LONG.toSeconds(), TimeUnit.SECONDS)) {
                throw new IllegalStateException(this + " does not end");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while " + this + " ends", e);
        }
    }

    private void signal(String name) {
        try {
            Process kill = new ProcessBuilder("kill", "-" + name, Long.toString(pid())).start();
            if (kill.waitFor() != 0) {
                throw new IllegalStateException("kill -" + name + " of " + this + " failed");
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while signalling " + this, e);
        }
    }

    /** Never a process that has ended: its id may be someone else's by now. */
    private Process running() {
        Process seen = process;
        if (seen == null || !seen.isAlive()) {
            throw new IllegalStateException(this + " is not running");
        }
        return seen;
    }

    private String logTail() throws IOException {
        List<String> lines = Files.readAllLines(log());
        return String.join("\n", lines.subList(Math.max(0, lines.size() - LOG_LINES_SHOWN), lines.size()));
    }
}
