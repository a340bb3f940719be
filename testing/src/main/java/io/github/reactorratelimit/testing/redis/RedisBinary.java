package io.github.reactorratelimit.testing.redis;

import io.lettuce.core.RedisURI;
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

/**
 * Where the servers come from: {@code REDIS_URI} (a running server, for what needs just one), {@code -Dredis.server=}
 * (a binary), the binary in the embedded-redis jar, {@code redis-server} on the PATH.
 */
final class RedisBinary {

    private static final String EMBEDDED = "/redis-server-7.0.15-";

    private RedisBinary() {}

    /** The server the user wants the tests to run against, instead of one of our own. */
    static Optional<RedisURI> userServer() {
        return Optional.ofNullable(System.getenv("REDIS_URI"))
                .filter(uri -> !uri.isBlank())
                .map(RedisURI::create);
    }

    /** The binary that a new server runs. It is unpacked at most once per JVM. */
    static Path path() {
        String wanted = System.getProperty("redis.server", "");
        return wanted.isBlank() ? Found.PATH : locate(wanted, "", "", "");
    }

    /**
     * Looks a binary up.
     *
     * @param wanted the binary the user names, which is taken or refused, never passed over
     * @param os as the system property {@code os.name} has it
     * @param arch as the system property {@code os.arch} has it
     * @param searchPath as the environment variable {@code PATH} has it
     */
    static Path locate(@Nullable String wanted, String os, String arch, String searchPath) {
        if (wanted != null && !wanted.isBlank()) {
            Path path = Path.of(wanted);
            if (!Files.isExecutable(path)) {
                throw new IllegalStateException("-Dredis.server=" + wanted + " is not an executable file");
            }
            return path;
        }
        return embedded(os, arch)
                .or(() -> onPath(searchPath))
                .orElseThrow(() -> new IllegalStateException("No Redis server can be started: there is no embedded"
                        + " binary for " + os + " on " + arch + " and no redis-server on the PATH. Name a binary with"
                        + " -Dredis.server=<path> (for spring-boot:run: -Dspring-boot.run.jvmArguments=-Dredis.server=<path>),"
                        + " or a running server with the environment variable REDIS_URI (Sentinel and Cluster need the"
                        + " binary)."));
    }

    private static Optional<Path> embedded(String os, String arch) {
        String resource = EMBEDDED + platform(os, arch);
        try (InputStream binary = RedisBinary.class.getResourceAsStream(resource)) {
            if (binary == null) {
                return Optional.empty();
            }
            Path file = Workspace.newDirectory("binary").resolve("redis-server");
            Files.copy(binary, file);
            if (!file.toFile().setExecutable(true)) {
                throw new IllegalStateException("cannot make " + file + " executable");
            }
            return Optional.of(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String platform(String os, String arch) {
        String name = os.toLowerCase(Locale.ROOT);
        String system = name.startsWith("mac") ? "darwin" : name;
        return system + "-"
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
                .map(directory -> Path.of(directory, "redis-server"))
                .filter(Files::isExecutable)
                .findFirst();
    }

    private static final class Found {
        static final Path PATH = locate(
                null,
                System.getProperty("os.name", ""),
                System.getProperty("os.arch", ""),
                Optional.ofNullable(System.getenv("PATH")).orElse(""));
    }
}
