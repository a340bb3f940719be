package io.github.reactorratelimit.embedded;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What is run: the binary that {@code -Dredis.server=} names, the one in the embedded-redis jar, or that on the PATH. */
final class RedisBinary {

    private static final String EMBEDDED = "/redis-server-7.0.15-";

    private RedisBinary() {}

    /** @param directory where a binary that has to be unpacked is put */
    static Path find(Path directory) {
        return find(
                directory,
                System.getProperty("redis.server"),
                System.getProperty("os.name", ""),
                System.getProperty("os.arch", ""),
                Optional.ofNullable(System.getenv("PATH")).orElse(""));
    }

    /** @param wanted what the user names, which is taken or refused, never passed over */
    static Path find(Path directory, @Nullable String wanted, String os, String arch, String searchPath) {
        if (wanted != null && !wanted.isBlank()) {
            Path path = Path.of(wanted).toAbsolutePath();
            if (!Files.isExecutable(path)) {
                throw new NoRedisException("-Dredis.server=" + wanted + " is not an executable file");
            }
            return path;
        }
        return unpacked(directory, os, arch)
                .or(() -> onPath(searchPath))
                .orElseThrow(() -> new NoRedisException("There is no embedded Redis for " + os + " on " + arch
                        + ", and no redis-server on the PATH. Install one, or name its binary with -Dredis.server=<path>"
                        + " (for spring-boot:run: -Dspring-boot.run.jvmArguments=-Dredis.server=<path>)."));
    }

    private static Optional<Path> unpacked(Path directory, String os, String arch) {
        try (InputStream binary = RedisBinary.class.getResourceAsStream(EMBEDDED + platform(os, arch))) {
            if (binary == null) {
                return Optional.empty();
            }
            Path file = directory.resolve("redis-server");
            Files.copy(binary, file);
            if (!file.toFile().setExecutable(true)) {
                throw new NoRedisException("cannot make " + file + " executable");
            }
            return Optional.of(file);
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    private static String platform(String os, String arch) {
        String name = os.toLowerCase(Locale.ROOT);
        return (name.startsWith("mac") ? "darwin" : name) + "-"
                + switch (arch.toLowerCase(Locale.ROOT)) {
                    case "x86_64", "amd64" -> "amd64";
                    case "aarch64", "arm64" -> "arm64";
                    case "x86", "i386", "i686" -> "386";
                    default -> arch;
                };
    }

    private static Optional<Path> onPath(String searchPath) {
        return Arrays.stream(searchPath.split(File.pathSeparator, -1))
                .filter(directory -> !directory.isBlank())
                .map(directory -> Path.of(directory, "redis-server").toAbsolutePath())
                .filter(Files::isExecutable)
                .findFirst();
    }
}
