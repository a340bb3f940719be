package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.testing.Await;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalysisReporter;
import org.springframework.boot.web.context.reactive.StandardReactiveWebEnvironment;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.Environment;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;
import org.springframework.http.HttpStatusCode;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;
import reactor.core.publisher.Mono;

/**
 * A Boot application on a real server and a free port, whose configuration is a text of YAML. Each request has a connection of its own:
 * Actuator's endpoints answer on other threads than the connection's, after which Reactor Netty 1.3.7 may stop reading it (reactor-netty#4361).
 */
public final class WebApplication implements AutoCloseable {

    private static final HttpClient CLIENT = HttpClient.newHttpClient();
    private static final String SPRING_DATA_REDIS =
            "org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration";
    private static final ThreadLocal<FailureAnalysis> LAST_FAILURE = new ThreadLocal<>();

    /** Longer than anything takes on a busy machine. */
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private final ConfigurableApplicationContext context;
    private final Path file;

    private WebApplication(ConfigurableApplicationContext context, Path file) {
        this.context = context;
        this.file = file;
    }

    /** What an application has that does not think of limits. */
    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @RestController
    static class Minimal {

        @GetMapping("/hello")
        Mono<String> hello() {
            return Mono.just("hello");
        }

        @PostMapping("/login")
        Mono<String> login(@RequestParam int status) {
            return status < 400
                    ? Mono.just("welcome")
                    : Mono.error(new ResponseStatusException(HttpStatusCode.valueOf(status), "no"));
        }

        /** Reads the body before it answers: the connection is closed then, and an answer before that may get lost with what was not read. */
        @PostMapping({"/upload", "/told"})
        Mono<String> upload(@RequestBody String body) {
            return Mono.just("thanks");
        }
    }

    /** Among the sources: the application is a gateway too. */
    public static final class Gateway {}

    /** Starts it with this configuration file; more beans come from {@code sources}. It has no Redis of its own. */
    public static WebApplication start(String yaml, Class<?>... sources) {
        return start(yaml, List.of("spring.autoconfigure.exclude=" + SPRING_DATA_REDIS), sources);
    }

    /** Starts it with properties beside the file. */
    static WebApplication start(String yaml, List<String> properties, Class<?>... sources) {
        return start(yaml, properties, null, sources);
    }

    /** Starts it with these environment variables, and no others. */
    static WebApplication startWithVariables(String yaml, Map<String, Object> variables) {
        ConfigurableEnvironment environment = new StandardReactiveWebEnvironment();
        environment
                .getPropertySources()
                .replace(
                        StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME,
                        new SystemEnvironmentPropertySource(
                                StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME, variables));
        return start(yaml, List.of("spring.autoconfigure.exclude=" + SPRING_DATA_REDIS), environment);
    }

    private static WebApplication start(
            String yaml, List<String> properties, @Nullable ConfigurableEnvironment environment, Class<?>... sources) {
        List<String> all = new ArrayList<>(properties);
        all.add("server.port=0");
        Path file = write(yaml);
        try {
            return new WebApplication(run(file, all, environment, sources), file);
        } catch (RuntimeException failed) {
            delete(file);
            throw failed;
        }
    }

    /** What Boot tells of an application that does not start with this configuration file. */
    static FailureAnalysis failure(String yaml, Class<?>... sources) {
        LAST_FAILURE.remove();
        try {
            start(yaml, sources).close();
            throw new AssertionError("it starts");
        } catch (RuntimeException expected) {
            FailureAnalysis analysis = LAST_FAILURE.get();
            if (analysis == null) {
                throw new AssertionError("it does not start, but Boot does not tell why", expected);
            }
            return analysis;
        }
    }

    /** Boot calls it on the thread that starts the application. */
    static final class Reporter implements FailureAnalysisReporter {

        @Override
        public void report(FailureAnalysis analysis) {
            LAST_FAILURE.set(analysis);
        }
    }

    private static ConfigurableApplicationContext run(
            Path file, List<String> properties, @Nullable ConfigurableEnvironment environment, Class<?>... sources) {
        boolean gateway = List.of(sources).contains(Gateway.class);
        SpringApplication application = new SpringApplicationBuilder(Minimal.class)
                .sources(sources)
                .web(WebApplicationType.REACTIVE)
                .registerShutdownHook(false)
                .build();
        if (environment != null) {
            application.setEnvironment(environment);
        }
        return application.run(Stream.concat(
                        Stream.of(
                                "--spring.config.location=" + file.toUri(),
                                "--spring.main.banner-mode=off",
                                "--spring.jmx.enabled=false",
                                "--server.netty.max-keep-alive-requests=1",
                                "--spring.cloud.gateway.server.webflux.enabled=" + gateway,
                                "--spring.cloud.gateway.server.webflux.redis.enabled=" + gateway,
                                "--spring.reactor.netty.shutdown-quiet-period=0s"),
                        properties.stream().map(property -> "--" + property))
                .toArray(String[]::new));
    }

    private static Path write(String yaml) {
        try {
            return Files.writeString(Files.createTempFile("application", ".yml"), yaml, StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Another configuration in its file, which it does not know of before it reads that again. */
    public void rewrite(String yaml) {
        try {
            Files.writeString(file, yaml, StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void delete(Path file) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public ConfigurableApplicationContext context() {
        return context;
    }

    <T> T bean(Class<T> type) {
        return context.getBean(type);
    }

    int port() {
        return context.getBean(Environment.class).getRequiredProperty("local.server.port", Integer.class);
    }

    public HttpResponse<String> get(String target, String... headers) {
        return send(request(target, headers).GET());
    }

    HttpResponse<String> post(String target, String body, String... headers) {
        return send(request(target, headers).POST(HttpRequest.BodyPublishers.ofString(body)));
    }

    /** Without a word about the length of the body. */
    HttpResponse<String> postChunked(String target, String body) {
        return send(request(target)
                .POST(HttpRequest.BodyPublishers.ofInputStream(
                        () -> new ByteArrayInputStream(body.getBytes(StandardCharsets.UTF_8)))));
    }

    /** The statuses of so many requests, one after the other. */
    public List<Integer> statuses(int requests, String target, String... headers) {
        return IntStream.range(0, requests)
                .mapToObj(i -> get(target, headers).statusCode())
                .toList();
    }

    private HttpRequest.Builder request(String target, String... headers) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port() + target))
                .timeout(PATIENCE);
        return headers.length == 0 ? request : request.headers(headers);
    }

    private static HttpResponse<String> send(HttpRequest.Builder request) {
        try {
            return CLIENT.send(request.build(), HttpResponse.BodyHandlers.ofString());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    /** Waits until it is connected to Redis, which it does not wait for itself. */
    WebApplication connected() {
        SharedStore shared = Objects.requireNonNull(bean(RateLimits.class).shared());
        Await.until(
                "connected to Redis",
                () -> Objects.requireNonNull(shared.condition().block()).works());
        return this;
    }

    @Override
    public void close() {
        context.close();
        delete(file);
    }
}
