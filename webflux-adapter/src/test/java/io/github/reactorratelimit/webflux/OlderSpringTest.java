package io.github.reactorratelimit.webflux;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** On the Spring of Boot 3.5 denials would break with a NoSuchMethodError: nothing starts there. */
class OlderSpringTest {

    private static final Path OLDER =
            Path.of(System.getProperty("basedir", "")).toAbsolutePath().resolve("target/older-spring");

    @Test
    void anOlderSpringIsRefusedAtTheStart() throws Exception {
        try (URLClassLoader loader = new OlderSpring(urls())) {
            Class<?> engine = loader.loadClass("io.github.reactorratelimit.webflux.RateLimitEngine");

            assertThatThrownBy(() -> engine.getMethod("builder").invoke(null))
                    .isInstanceOf(InvocationTargetException.class)
                    .cause()
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("needs Spring Framework 7, that is Spring Boot 4")
                    .hasMessageContaining("found Spring Framework 6.2");
        }
    }

    private static URL[] urls() {
        List<URL> urls = new ArrayList<>();
        try (Stream<Path> jars = Files.list(OLDER)) {
            jars.forEach(jar -> urls.add(url(jar)));
        } catch (IOException e) {
            throw new UncheckedIOException("built by Maven before the tests", e);
        }
        urls.add(RateLimitEngine.class.getProtectionDomain().getCodeSource().getLocation());
        return urls.toArray(URL[]::new);
    }

    private static URL url(Path path) {
        try {
            return path.toUri().toURL();
        } catch (MalformedURLException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Has its own Spring and adapter, and all else from the tests' class path. */
    private static final class OlderSpring extends URLClassLoader {

        OlderSpring(URL[] urls) {
            super(urls, OlderSpringTest.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            boolean own =
                    name.startsWith("org.springframework.") || name.startsWith("io.github.reactorratelimit.webflux.");
            if (!own) {
                return super.loadClass(name, resolve);
            }
            synchronized (getClassLoadingLock(name)) {
                Class<?> loaded = findLoadedClass(name);
                return loaded == null ? findClass(name) : loaded;
            }
        }
    }
}
