package io.github.reactorratelimit.benchmarks.web;

import java.io.IOException;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Mono;

/** A Boot application with one endpoint and what is measured in front of it. */
final class WebServer implements AutoCloseable {

    static final String PATH = "/hello";

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

    static WebServer start(ServerKind kind, int redisPort) {
        SpringApplicationBuilder builder = new SpringApplicationBuilder(Application.class)
                .sources(kind.sources().toArray(Class[]::new))
                .web(WebApplicationType.REACTIVE)
                .registerShutdownHook(false);
        return new WebServer(builder.run(kind.arguments(redisPort)));
    }

    int port() {
        return context.getEnvironment().getRequiredProperty("local.server.port", Integer.class);
    }

    @Override
    public void close() {
        context.close();
    }

    /** Runs one until its input ends, which is when whoever started it ends. Prints its port. */
    public static void main(String[] arguments) throws IOException {
        try (WebServer server = start(ServerKind.of(arguments[0]), Integer.parseInt(arguments[1]))) {
            System.out.println(WebServerProcess.PORT + server.port());
            while (System.in.read() >= 0) {
                // Nothing is ever said.
            }
        }
        Runtime.getRuntime().halt(0);
    }
}
