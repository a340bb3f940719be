package io.github.reactorratelimit.examples.browser;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Assumptions;

/**
 * A headless browser of this machine: the one that {@code -Dchromium=} names, or the first on the PATH. Where there is none that starts,
 * a test is aborted and says so; with the environment variable {@code BROWSER_REQUIRED=true} it fails.
 */
public final class Chromium implements AutoCloseable {

    private static final List<String> NAMES =
            List.of("chromium", "chromium-browser", "google-chrome", "google-chrome-stable");
    private static final String ADVICE = "; install chromium, or name a browser by -Dchromium=<binary>";
    /** The browser speaks to its descriptors 3 and 4, a process started from Java has 0 to 2: the first two are handed on. */
    private static final String PIPES = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null";

    private static final int LAST_WORDS = 40;

    private final Process process;
    private final Path profile;
    private final Deque<String> lastWords = new ConcurrentLinkedDeque<>();
    private final DevTools devTools;

    private Chromium(Process process, Path profile) {
        this.process = process;
        this.profile = profile;
        Thread listener = new Thread(this::listen, "chromium-stderr");
        listener.setDaemon(true);
        listener.start();
        this.devTools = new DevTools(
                process.getInputStream(),
                process.getOutputStream(),
                () -> String.join(System.lineSeparator(), lastWords));
    }

    /** Starts the browser; returns when it answers. */
    public static Chromium start() {
        String binary = find().orElseGet(() -> absent("browser tests need a browser, and none is on the PATH"));
        try {
            Path profile = Files.createTempDirectory("playground-browser");
            Chromium started = new Chromium(new ProcessBuilder(command(binary, profile)).start(), profile);
            started.awaken(binary);
            return started;
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    /** A file on the PATH may be a stub that only tells how to install the browser. */
    private void awaken(String binary) {
        try {
            devTools.call(null, "Browser.getVersion", Map.of());
        } catch (IllegalStateException silent) {
            close();
            absent(binary + " does not start: " + silent.getMessage());
        }
    }

    /** This browser or, should it have died while no page was open, another: it is not what is tested. */
    public Chromium orAnother() {
        if (process.isAlive()) {
            return this;
        }
        System.err.println("the browser died with " + process.exitValue() + " and said: " + lastWords);
        close();
        return start();
    }

    /** A new page, with nothing in it. */
    public Page newPage() {
        return Page.open(devTools);
    }

    @Override
    public void close() {
        List<ProcessHandle> helpers = process.descendants().toList();
        process.destroyForcibly().onExit().join();
        helpers.forEach(ProcessHandle::destroyForcibly);
        deleteProfile();
    }

    private static Optional<String> find() {
        String given = System.getProperty("chromium");
        if (given != null) {
            return Optional.of(given);
        }
        List<Path> found = new ArrayList<>();
        for (String name : NAMES) {
            for (String directory : System.getenv().getOrDefault("PATH", "").split(File.pathSeparator)) {
                found.add(Path.of(directory, name));
            }
        }
        return found.stream().filter(Files::isExecutable).map(Path::toString).findFirst();
    }

    private static String absent(String reason) {
        if (Boolean.parseBoolean(System.getenv("BROWSER_REQUIRED"))) {
            return Assertions.fail(reason + ADVICE);
        }
        System.err.println("browser tests are left out: " + reason + ADVICE);
        return Assumptions.abort(reason + ADVICE);
    }

    private static List<String> command(String binary, Path profile) {
        return List.of(
                "/bin/sh",
                "-c",
                PIPES,
                binary,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--remote-debugging-pipe",
                "--user-data-dir=" + profile,
                "about:blank");
    }

    /** Also keeps the pipe empty, without which the browser would stand still one day. */
    private void listen() {
        try (BufferedReader lines = process.errorReader(StandardCharsets.UTF_8)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                lastWords.add(line);
                if (lastWords.size() > LAST_WORDS) {
                    lastWords.remove();
                }
            }
        } catch (IOException ended) {
            lastWords.add(ended.toString());
        }
    }

    private void deleteProfile() {
        try (Stream<Path> files = Files.walk(profile)) {
            files.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
        } catch (IOException | UncheckedIOException stillInUse) {
            // Left to whoever clears the temporary directory.
        }
    }
}
