package io.github.reactorratelimit.embedded;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A process on 127.0.0.1 with a port and a directory that it keeps over restarts. It persists nothing: after a restart it is empty. */
final class RedisProcess implements AutoCloseable {

    private final int port = Ports.free();
    private final Path directory;
    private final Guard guard;
    private final List<String> command;
    private volatile @Nullable Process process;

    private RedisProcess(Path directory, Guard guard, List<String> arguments) {
        this.directory = directory;
        this.guard = guard;
        this.command = new ArrayList<>(List.of(
                RedisBinary.find(directory).toString(),
                "--port",
                Integer.toString(port),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--appendonly",
                "no"));
        this.command.addAll(arguments);
    }

    /** One that does not run yet; each argument as on the command line of {@code redis-server}. */
    static RedisProcess prepare(String... arguments) {
        try {
            Path directory = Files.createTempDirectory("redis-");
            Guard guard = Guard.of(directory);
            try {
                return new RedisProcess(directory, guard, List.of(arguments));
            } catch (RuntimeException failed) {
                guard.close();
                throw failed;
            }
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    int port() {
        return port;
    }

    String uri() {
        return "redis://127.0.0.1:" + port;
    }

    /** A file in its directory. */
    void write(String name, List<String> lines) {
        try {
            Files.write(directory.resolve(name), lines);
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    /** Runs it; returns before it answers. */
    synchronized ServerLog launch() {
        try {
            Process started = new ProcessBuilder(command)
                    .directory(directory.toFile())
                    .redirectErrorStream(true)
                    .start();
            process = started;
            guard.watch(started);
            return ServerLog.follow(started);
        } catch (IOException failed) {
            kill();
            throw new UncheckedIOException("cannot run " + command.get(0), failed);
        }
    }

    boolean isAlive() {
        Process seen = process;
        return seen != null && seen.isAlive();
    }

    long pid() {
        return latest().pid();
    }

    Duration processorTime() {
        return latest().info().totalCpuDuration().orElse(Duration.ZERO);
    }

    private Process latest() {
        Process seen = process;
        if (seen == null) {
            throw new IllegalStateException("never started");
        }
        return seen;
    }

    /** Ends it at once, if it lives; returns when it is gone. */
    synchronized void kill() {
        Process seen = process;
        if (seen != null) {
            seen.destroyForcibly().onExit().join();
        }
    }

    @Override
    public void close() {
        kill();
        guard.close();
    }
}
