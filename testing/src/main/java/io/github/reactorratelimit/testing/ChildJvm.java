package io.github.reactorratelimit.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A separate process that runs a main class of the tests and reports by the lines it prints. */
public final class ChildJvm implements AutoCloseable {

    /** Several of them share few processors: small heaps, few threads, quick to start. */
    private static final List<String> OPTIONS =
            List.of("-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto");

    private final Path output;
    private final Process process;

    private ChildJvm(Path output, Process process) {
        this.output = output;
        this.process = process;
    }

    public static ChildJvm start(Class<?> main, List<String> arguments) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(OPTIONS);
        command.add("-Dratelimit.tests.full=" + Boolean.getBoolean("ratelimit.tests.full"));
        command.add("-Dlog.target=System.err");
        command.add("-cp");
        command.add(System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")));
        command.add(main.getName());
        command.addAll(arguments);
        try {
            Path output = Files.createTempFile("reactor-ratelimit-child-", ".txt");
            Process process = new ProcessBuilder(command)
                    .redirectOutput(output.toFile())
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            return new ChildJvm(output, process);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Whether it has not ended yet. */
    public boolean isAlive() {
        return process.isAlive();
    }

    /** What it printed, once it has ended well; fails if it does not end in time. */
    public List<String> await(Duration atMost) {
        try {
            if (!process.waitFor(atMost.toMillis(), TimeUnit.MILLISECONDS)) {
                throw new AssertionError("process " + process.pid() + " did not end within " + atMost);
            }
            if (process.exitValue() != 0) {
                throw new AssertionError(
                        "process ended with " + process.exitValue() + ":\n" + Files.readString(output));
            }
            return Files.readAllLines(output);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while a process runs", e);
        }
    }

    @Override
    public void close() {
        process.destroyForcibly();
        try {
            Files.deleteIfExists(output);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Runs {@code count} processes side by side and returns what each printed. */
    public static List<List<String>> runAll(int count, Class<?> main, List<String> arguments, Duration atMost) {
        List<ChildJvm> children = new ArrayList<>();
        try {
            for (int i = 0; i < count; i++) {
                children.add(start(main, arguments));
            }
            return children.stream().map(child -> child.await(atMost)).toList();
        } finally {
            children.forEach(ChildJvm::close);
        }
    }
}
