package io.github.reactorratelimit.benchmarks.web;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** A server in a separate JVM, which has its own compiler state and processor time. */
final class WebServerProcess implements AutoCloseable {

    static final String PORT = "listening on ";

    private final Process process;
    private final int port;

    private WebServerProcess(Process process, int port) {
        this.process = process;
        this.port = port;
    }

    static WebServerProcess start(ServerKind kind, int redisPort) throws IOException {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        Process process = new ProcessBuilder(
                        java,
                        "-Xms256m",
                        "-Xmx256m",
                        "-XX:+UseParallelGC",
                        "-Dorg.springframework.boot.logging.LoggingSystem=none",
                        "-cp",
                        System.getProperty("java.class.path"),
                        WebServer.class.getName(),
                        kind.name(),
                        Integer.toString(redisPort))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        return new WebServerProcess(process, portOf(process, kind));
    }

    private static int portOf(Process process, ServerKind kind) throws IOException {
        BufferedReader output = process.inputReader();
        for (@Nullable String line = output.readLine(); line != null; line = output.readLine()) {
            if (line.startsWith(PORT)) {
                return Integer.parseInt(line.substring(PORT.length()));
            }
        }
        throw new IllegalStateException("the server " + kind + " did not start");
    }

    int port() {
        return port;
    }

    /** Of all its threads since the start, including compiler and collector. */
    Duration processorTime() {
        return process.toHandle().info().totalCpuDuration().orElse(Duration.ZERO);
    }

    @Override
    public void close() throws IOException {
        process.getOutputStream().close();
        process.onExit().join();
    }
}
