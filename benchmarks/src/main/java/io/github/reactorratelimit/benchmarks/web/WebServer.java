package io.github.reactorratelimit.benchmarks.web;

import io.github.reactorratelimit.testing.Await;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.URI;
import java.time.Duration;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.WebFilter;
import reactor.core.publisher.Mono;

/** A Boot application with one endpoint and a rate limit in front of it. */
final class WebServer implements AutoCloseable {

    static final String PATH = "/hello";

    private static final Duration LONGEST_START = Duration.ofMinutes(2);

    private final ConfigurableApplicationContext context;

    private WebServer(ConfigurableApplicationContext context) {
        this.context = context;
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration(
            excludeName = {
                "org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration",
                "org.springframework.boot.data.redis.autoconfigure.DataRedisReactiveAutoConfiguration",
                "org.springframework.boot.data.redis.autoconfigure.DataRedisRepositoriesAutoConfiguration"
            })
    @RestController
    static class Application {

        @GetMapping(PATH)
        Mono<String> hello() {
            return Mono.just("hello");
        }
    }

    /** The floor of a denial: a status without a limiter, headers or a body. */
    @Configuration(proxyBeanMethods = false)
    static class Denying {

        @Bean
        WebFilter denyingFilter() {
            return (exchange, chain) -> {
                exchange.getResponse().setStatusCode(HttpStatus.TOO_MANY_REQUESTS);
                return exchange.getResponse().setComplete();
            };
        }
    }

    /** Starts a server and waits until it responds as its kind says. */
    static WebServer start(ServerKind kind, int redisPort) throws IOException {
        SpringApplicationBuilder builder = new SpringApplicationBuilder(Application.class)
                .sources(kind.sources().toArray(Class[]::new))
                .web(WebApplicationType.REACTIVE)
                .registerShutdownHook(false);
        WebServer server = new WebServer(builder.run(kind.arguments(redisPort)));
        try {
            server.awaitStatus(kind.status());
            return server;
        } catch (RuntimeException | AssertionError neverReady) {
            server.close();
            throw neverReady;
        }
    }

    /**
     * A limit on Redis that is still connecting responds with 503, so this waits for the expected status.
     * That may use the permits of 127.0.0.1.
     */
    private void awaitStatus(int expected) {
        Await.until("status " + expected, LONGEST_START, () -> status() == expected);
    }

    private int status() throws IOException {
        HttpURLConnection connection = (HttpURLConnection)
                URI.create("http://127.0.0.1:" + port() + PATH).toURL().openConnection();
        connection.setReadTimeout((int) LONGEST_START.toMillis());
        try {
            return connection.getResponseCode();
        } finally {
            connection.disconnect();
        }
    }

    int port() {
        return context.getEnvironment().getRequiredProperty("local.server.port", Integer.class);
    }

    @Override
    public void close() {
        context.close();
    }

    /**
     * Prints the port of a new server and runs it until the input ends, as it does when the parent process
     * ends.
     */
    public static void main(String[] arguments) throws IOException {
        try (WebServer server = start(ServerKind.valueOf(arguments[0]), Integer.parseInt(arguments[1]))) {
            System.out.println(WebServerProcess.PORT + server.port());
            while (System.in.read() >= 0) {
                // The input carries nothing.
            }
        }
        Runtime.getRuntime().halt(0);
    }
}
