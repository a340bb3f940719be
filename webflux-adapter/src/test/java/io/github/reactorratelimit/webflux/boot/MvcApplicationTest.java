package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.webflux.RateLimitRule;
import io.github.reactorratelimit.webflux.RateLimited;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.web.server.WebServer;
import org.springframework.boot.web.server.servlet.ServletWebServerFactory;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.stereotype.Controller;
import reactor.core.publisher.Mono;

/**
 * An application with servlets and without WebFlux on its class path, as Boot starts it: nothing of ours would see its requests. Spring MVC itself is not
 * there, and no server listens: it is what keeps the application from starting that matters.
 */
class MvcApplicationTest {

    private static final String STARTED = "AnnotationConfigServletWebServerApplicationContext";

    private static final Path SERVLETS =
            Path.of(System.getProperty("basedir", "")).toAbsolutePath().resolve("target/servlets");

    private static final String WEBFLUX = "(spring|spring-boot|spring-boot-starter)-webflux-.*"
            + "|(spring-boot-|spring-boot-starter-)?reactor-netty-.*|spring-cloud-gateway-.*";

    @Test
    void doesNotStartWithLimitsAndSaysWhyUnlessTheyAreTurnedOff() throws IOException {
        String limit = "--reactor-ratelimit.limits.some.limit=3 per minute";
        try (ConsoleLines output = ConsoleLines.read();
                URLClassLoader servlets = new URLClassLoader(classPath(), ClassLoader.getPlatformClassLoader())) {
            assertThat(start(servlets, Servlets.class, limit, "--reactor-ratelimit.limits.some.key=ip"))
                    .contains("reactor-ratelimit.limits", "whose requests would all pass");
            assertThat(output.text())
                    .contains("APPLICATION FAILED TO START", "Property: reactor-ratelimit.limits")
                    .contains("this one is of Spring MVC", "spring-boot-starter-webflux");
            assertThat(start(servlets, Servlets.class, limit, "--reactor-ratelimit.enabled=false"))
                    .isEqualTo(STARTED);
        }
    }

    @Test
    void doesNotStartWithRulesOrLimitedControllers() throws IOException {
        try (URLClassLoader servlets = new URLClassLoader(classPath(), ClassLoader.getPlatformClassLoader())) {
            assertThat(start(servlets, Servlets.class)).isEqualTo(STARTED);
            assertThat(start(servlets, WithRule.class))
                    .contains("bean someRule", "is a rule for WebFlux applications", "whose requests would all pass");
            assertThat(start(servlets, WithLimitedMethod.class))
                    .contains("bean limitedMethod", "@RateLimited", "whose requests would all pass");
            assertThat(start(servlets, WithLimitedType.class)).contains("bean limitedType", "@RateLimited");
            assertThat(start(servlets, WithRule.class, "--reactor-ratelimit.enabled=false"))
                    .isEqualTo(STARTED);
        }
    }

    /** Why it does not start, or the type of its context. */
    private static String start(ClassLoader loader, Class<?> application, String... arguments) {
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        thread.setContextClassLoader(loader);
        try {
            return (String) loader.loadClass(Servlets.class.getName())
                    .getMethod("start", String.class, String[].class)
                    .invoke(null, application.getName(), arguments);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        } finally {
            thread.setContextClassLoader(before);
        }
    }

    private static URL[] classPath() throws IOException {
        String tests = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        try (Stream<Path> servlets = Files.list(SERVLETS)) {
            return Stream.concat(
                            Arrays.stream(tests.split(File.pathSeparator))
                                    .filter(entry -> !entry.isEmpty())
                                    .map(Path::of)
                                    .filter(path ->
                                            !path.getFileName().toString().matches(WEBFLUX)),
                            servlets)
                    .map(MvcApplicationTest::url)
                    .toArray(URL[]::new);
        }
    }

    private static URL url(Path path) {
        try {
            return path.toUri().toURL();
        } catch (MalformedURLException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The application; loaded from the class path that has servlets. */
    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration(
            excludeName = "org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration")
    public static class Servlets {

        @Bean
        ServletWebServerFactory servers() {
            return initializers -> new WebServer() {
                @Override
                public void start() {}

                @Override
                public void stop() {}

                @Override
                public int getPort() {
                    return -1;
                }
            };
        }

        public static String start(String configuration, String... arguments) throws ClassNotFoundException {
            SpringApplication application =
                    new SpringApplication(Class.forName(configuration, true, Servlets.class.getClassLoader()));
            application.setRegisterShutdownHook(false);
            try (ConfigurableApplicationContext context = application.run(arguments)) {
                return context.getClass().getSimpleName();
            } catch (RuntimeException refused) {
                Throwable root = refused;
                while (root.getCause() != null) {
                    root = root.getCause();
                }
                return root.toString();
            }
        }
    }

    @Configuration(proxyBeanMethods = false)
    public static class WithRule extends Servlets {

        @Bean
        RateLimitRule someRule() {
            return RateLimitRule.named("some")
                    .key(exchange -> Mono.just("one"))
                    .policy(TokenBucket.perMinute(3))
                    .build();
        }
    }

    @Configuration(proxyBeanMethods = false)
    public static class WithLimitedMethod extends Servlets {

        @Bean
        LimitedMethod limitedMethod() {
            return new LimitedMethod();
        }
    }

    @Configuration(proxyBeanMethods = false)
    public static class WithLimitedType extends Servlets {

        @Bean
        LimitedType limitedType() {
            return new LimitedType();
        }
    }

    @Controller
    static class LimitedMethod {

        @RateLimited("some")
        public void handle() {}
    }

    @Controller
    @RateLimited("some")
    static class LimitedType {}
}
