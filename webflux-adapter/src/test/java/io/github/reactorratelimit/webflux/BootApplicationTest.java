package io.github.reactorratelimit.webflux;

import static io.github.reactorratelimit.webflux.testing.Rules.byUser;
import static io.github.reactorratelimit.webflux.testing.Rules.few;
import static java.time.Duration.ofMinutes;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.reactive.result.method.annotation.RequestMappingHandlerMapping;
import reactor.core.publisher.Mono;

/** The beans of the guide in a Spring Boot application on a real port, called by Spring's own client. */
class BootApplicationTest {

    private ConfigurableApplicationContext application;

    @EnableAutoConfiguration
    @RestController
    static class Application {

        @GetMapping("/hello")
        Mono<String> hello() {
            return Mono.just("hello");
        }

        @Bean
        RateLimitEngine rateLimitEngine(RequestMappingHandlerMapping requestMappingHandlerMapping) {
            return RateLimitEngine.builder()
                    .parser(requestMappingHandlerMapping.getPathPatternParser())
                    .rule(byUser("hello").path("/hello").policy(few(2)).build())
                    .build();
        }

        @Bean
        RateLimitWebFilter rateLimitFilter(RateLimitEngine engine) {
            return RateLimitWebFilter.of(engine);
        }
    }

    private void start(String... properties) {
        application = new SpringApplicationBuilder(Application.class)
                .properties("server.port=0", "server.address=127.0.0.1", "spring.main.banner-mode=off")
                .properties(properties)
                .run();
    }

    private HttpStatusCode get(String path) {
        String port = application.getEnvironment().getProperty("local.server.port");
        ResponseEntity<String> response = WebClient.create("http://127.0.0.1:" + port)
                .get()
                .uri(path)
                .header("X-User", "ann")
                .exchangeToMono(answer -> answer.toEntity(String.class))
                .block(ofMinutes(1));
        return response.getStatusCode();
    }

    @AfterEach
    void stop() {
        application.close();
    }

    @Test
    void beansOfTheGuideLimitABootApplication() {
        start();

        assertThat(get("/hello").value()).isEqualTo(200);
        assertThat(get("/hello;a=b").value()).isEqualTo(200);
        assertThat(get("/hello").value()).isEqualTo(429);
    }

    @Test
    void pathsAreThoseWithinTheApplication() {
        start("spring.webflux.base-path=/base");

        assertThat(get("/base/hello").value()).isEqualTo(200);
        assertThat(get("/base/hello").value()).isEqualTo(200);
        assertThat(get("/base/hello").value()).isEqualTo(429);
        assertThat(get("/hello").value()).isEqualTo(404);
    }
}
