package io.github.reactorratelimit.examples.browser;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Assumptions;

/**
 * A headless browser of this machine: the one that {@code -Dchromium=} names or, with the environment variable {@code
 * BROWSER_REQUIRED=true}, one on the PATH, without which a test fails. If neither is given, a test is aborted and says so.
 */
public final class Chromium implements AutoCloseable {

    private static final List<String> NAMES =
            List.of("chromium", "chromium-browser", "google-chrome", "google-chrome-stable");
    private static final Pattern ENDPOINT = Pattern.compile("DevTools listening on (ws://\\S+)");

    private final Process process;
    private final Path profile;
    private final DevTools devTools;

    private Chromium(Process process, Path profile, DevTools devTools) {
        this.process = process;
        this.profile = profile;
        this.devTools = devTools;
    }

    /** Starts the browser. */
    public static Chromium start() {
        String binary = wanted() ? find().orElseGet(Chromium::missing) : missing();
        try {
            Path profile = Files.createTempDirectory("playground-browser");
            Process process = new ProcessBuilder(command(binary, profile))
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
            return new Chromium(process, profile, DevTools.connect(endpoint(process)));
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    /** A new page, with nothing in it. */
    public Page newPage() {
        return Page.open(devTools);
    }

    @Override
    public void close() {
        devTools.close();
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
        process.onExit().join();
        deleteProfile();
    }

    private static boolean wanted() {
        return System.getProperty("chromium") != null || Boolean.parseBoolean(System.getenv("BROWSER_REQUIRED"));
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

    private static String missing() {
        String advice = "set BROWSER_REQUIRED=true for a chromium on the PATH, or name one by -Dchromium=<binary>";
        if (Boolean.parseBoolean(System.getenv("BROWSER_REQUIRED"))) {
            return Assertions.fail(advice);
        }
        System.err.println("browser tests are left out, " + advice);
        return Assumptions.abort(advice);
    }

    private static List<String> command(String binary, Path profile) {
        return List.of(
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
                "--remote-debugging-port=0",
                "--user-data-dir=" + profile,
                "about:blank");
    }

    /** The browser says it in its first lines; the others are read by a thread, or it would stand still when the pipe is full. */
    private static URI endpoint(Process process) throws IOException {
        BufferedReader lines =
                new BufferedReader(new InputStreamReader(process.getErrorStream(), StandardCharsets.UTF_8));
        StringBuilder said = new StringBuilder();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            said.append(line).append('\n');
            Matcher endpoint = ENDPOINT.matcher(line);
            if (endpoint.find()) {
                Thread reader = new Thread(() -> lines.lines().forEach(ignored -> {}), "chromium-stderr");
                reader.setDaemon(true);
                reader.start();
                return URI.create(endpoint.group(1));
            }
        }
        throw new IOException("the browser did not start: " + said);
    }

    private void deleteProfile() {
        try (Stream<Path> files = Files.walk(profile)) {
            files.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
        } catch (IOException | UncheckedIOException stillInUse) {
            // Left to whoever clears the temporary directory.
        }
    }
}
