package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class ScriptLoadingTest {

    /** All classes once more, and the names of the scripts that they read. */
    private static final class Recording extends URLClassLoader {

        private final Queue<String> scripts = new ConcurrentLinkedQueue<>();

        Recording() {
            super(
                    Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                            .map(Recording::url)
                            .toArray(URL[]::new),
                    ClassLoader.getPlatformClassLoader());
        }

        private static URL url(String entry) {
            try {
                return Path.of(entry).toUri().toURL();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public URL getResource(String name) {
            if (name.endsWith(".lua")) {
                scripts.add(name.substring(name.lastIndexOf('/') + 1));
            }
            return super.getResource(name);
        }
    }

    /** A decision may be requested on a thread that must not block. */
    @Test
    void scriptsAreReadWhenTheStoreIsMade() throws Exception {
        try (Recording loader = new Recording()) {
            loader.loadClass(RedisStore.class.getName())
                    .getMethod("connectAside", String.class)
                    .invoke(null, "redis://127.0.0.1:6379");
            assertThat(loader.scripts).contains("commands.lua", "frame.lua", "selftest.lua");
        }
    }
}
