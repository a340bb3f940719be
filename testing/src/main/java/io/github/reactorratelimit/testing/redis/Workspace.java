package io.github.reactorratelimit.testing.redis;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/**
 * The temporary directory of this JVM's servers, and what ends them with it: a shell that waits on a pipe from this JVM
 * and, when the pipe closes, kills the servers that are left and deletes the directory. Works for {@code kill -9} of the
 * JVM too, which no shutdown hook does.
 */
final class Workspace {

    /** Signals to the whole process group must not take the shell before the JVM. */
    private static final String CLEAN_UP_AFTER_JVM = """
            trap '' HUP INT TERM
            cat > /dev/null
            for file in "$1"/pids/*; do
                [ -e "$file" ] && kill -9 "${file##*/}"
            done
            rm -rf "$1"
            """;

    private static final Workspace INSTANCE = new Workspace();

    private final Path root;
    private final Path pids;

    private Workspace() {
        try {
            root = Files.createTempDirectory("reactor-ratelimit-redis-");
            pids = Files.createDirectory(root.resolve("pids"));
            new ProcessBuilder("sh", "-c", CLEAN_UP_AFTER_JVM, "sh", root.toString())
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A new directory that lives as long as this JVM. */
    static Path newDirectory(String name) {
        try {
            return Files.createTempDirectory(INSTANCE.root, name + "-");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Deletes a directory that {@link #newDirectory} made, with the files in it. */
    static void delete(Path directory) {
        try (Stream<Path> found = Files.walk(directory)) {
            for (Path path : found.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(path);
            }
        } catch (NoSuchFileException gone) {
            // Closed twice.
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Has the process die with this JVM; its id is forgotten when it ends, before anyone else can have it. */
    static void adopt(Process process) {
        Path file = INSTANCE.pids.resolve(Long.toString(process.pid()));
        try {
            Files.createFile(file);
        } catch (IOException e) {
            process.destroyForcibly();
            throw new UncheckedIOException(e);
        }
        var unused = process.onExit().thenRun(() -> {
            try {
                Files.deleteIfExists(file);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }
}
