package io.github.reactorratelimit.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import java.io.File;
import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;

/** Micrometer is optional: a limiter runs where it is not on the class path. */
class WithoutMicrometerTest {

    /** Loaded by the class loader that has no Micrometer. */
    public static final class Program implements Callable<String> {

        @Override
        public String call() {
            RateLimiter limiter = RateLimiter.of(TokenBucket.perHour(1));
            String first = String.valueOf(limiter.tryAcquire("alice").block().allowed());
            String second = String.valueOf(limiter.tryAcquire("alice").block().allowed());
            limiter.dispose();
            return first + " " + second;
        }
    }

    @Test
    void limiterRunsWithoutMicrometerOnTheClassPath() throws Exception {
        try (URLClassLoader loader = withoutMicrometer()) {
            assertThatExceptionOfType(ClassNotFoundException.class)
                    .isThrownBy(() -> loader.loadClass("io.micrometer.core.instrument.MeterRegistry"));

            Callable<?> program = (Callable<?>) loader.loadClass(Program.class.getName())
                    .getDeclaredConstructor()
                    .newInstance();

            assertThat(program).isNotInstanceOf(Program.class);
            assertThat(program.call()).isEqualTo("true false");
        }
    }

    private static URLClassLoader withoutMicrometer() throws IOException {
        URL[] urls = Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> !entry.contains("micrometer"))
                .map(WithoutMicrometerTest::url)
                .toArray(URL[]::new);
        return new URLClassLoader(urls, ClassLoader.getPlatformClassLoader());
    }

    private static URL url(String entry) {
        try {
            return Path.of(entry).toUri().toURL();
        } catch (MalformedURLException e) {
            throw new IllegalArgumentException(entry, e);
        }
    }
}
