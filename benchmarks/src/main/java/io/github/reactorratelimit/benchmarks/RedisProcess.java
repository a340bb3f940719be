package io.github.reactorratelimit.benchmarks;

import io.lettuce.core.RedisURI;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;

/** A Redis server for one run, from the binaries in the embedded-redis jar. */
public final class RedisProcess implements AutoCloseable {

    private static final String BINARY = "/redis-server-7.0.15-";

    private final Process process;
    private final Path directory;
    private final int port;

    private RedisProcess(Process process, Path directory, int port) {
        this.process = process;
        this.directory = directory;
        this.port = port;
    }

    /** Starts it on a free port. It may take some milliseconds until it answers. */
    public static RedisProcess start() throws IOException {
        Path directory = Files.createTempDirectory("redis-");
        Path binary = directory.resolve("redis-server");
        String resource = BINARY + platform();
        try (InputStream in = RedisProcess.class.getResourceAsStream(resource)) {
            if (in == null) {
                throw new IllegalStateException("no Redis server for this platform: " + resource);
            }
            Files.copy(in, binary);
        }
        if (!binary.toFile().setExecutable(true)) {
            throw new IllegalStateException("cannot make " + binary + " executable");
        }
        int port = freePort();
        Process process = new ProcessBuilder(
                        binary.toString(), "--port", Integer.toString(port), "--bind", "127.0.0.1", "--save", "")
                .directory(directory.toFile())
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        return new RedisProcess(process, directory, port);
    }

    /** Where it listens. */
    public RedisURI uri() {
        return RedisURI.create("127.0.0.1", port);
    }

    /** What it has used of the processors so far. */
    public Duration processorTime() {
        return process.toHandle().info().totalCpuDuration().orElse(Duration.ZERO);
    }

    @Override
    public void close() throws IOException {
        process.destroy();
        process.onExit().join();
        Files.deleteIfExists(directory.resolve("redis-server"));
        Files.deleteIfExists(directory);
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    private static String platform() {
        String system = System.getProperty("os.name").toLowerCase(Locale.ROOT);
        String arch = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
        boolean arm = arch.equals("aarch64") || arch.equals("arm64");
        return (system.startsWith("mac") ? "darwin" : system) + "-" + (arm ? "arm64" : "amd64");
    }
}
