package io.github.reactorratelimit.webflux.architecture;

import static io.github.reactorratelimit.webflux.testing.Rules.byUser;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.webflux.RateLimitEngine;
import io.github.reactorratelimit.webflux.RateLimitWebFilter;
import io.github.reactorratelimit.webflux.StatusSet;
import io.github.reactorratelimit.webflux.testing.ElsewhereLimiter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.springframework.http.server.reactive.ReactorHttpHandlerAdapter;
import org.springframework.web.server.WebHandler;
import org.springframework.web.server.adapter.WebHttpHandlerBuilder;
import reactor.blockhound.BlockHound;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;

/** Nothing that limits a request blocks its event loop. In a process of its own, where BlockHound watches every thread. */
class BlockHoundTest {

    @Test
    void nothingBlocksWhileRequestsAreAllowedDeniedAndDelayed() throws Exception {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:+AllowRedefinitionToAddDeleteMethods",
                        "-cp",
                        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                        Watched.class.getName())
                .redirectErrorStream(true)
                .start();
        String output = new String(process.getInputStream().readAllBytes());
        assertThat(process.waitFor(5, TimeUnit.MINUTES)).isTrue();

        assertThat(output.lines().filter(line -> line.startsWith("/")))
                .containsExactly(
                        "/blocking 500",
                        "/local 200",
                        "/local 429",
                        "/elsewhere 200",
                        "/elsewhere 429",
                        "/delayed 200",
                        "/delayed 200",
                        "/parallel 200",
                        "/counted 200",
                        "/counted 200");
    }

    /** Sends requests to a server whose event loop must not block. */
    static final class Watched {

        private static final TokenBucket ONE = TokenBucket.of(1, Duration.ofHours(1));

        private Watched() {}

        private static RateLimitEngine engine() {
            return RateLimitEngine.builder()
                    .rule(byUser("local").path("/local").policy(ONE).build())
                    .rule(byUser("elsewhere")
                            .path("/elsewhere")
                            .limiter(ElsewhereLimiter.of(RateLimiter.of(ONE)))
                            .build())
                    .rule(byUser("delayed")
                            .path("/delayed")
                            .policy(TokenBucket.of(1, Duration.ofMillis(50)))
                            .delay(Duration.ofMinutes(1))
                            .build())
                    .rule(byUser("parallel")
                            .path("/parallel")
                            .policy(ConcurrencyLimit.of(1))
                            .build())
                    .rule(byUser("counted")
                            .path("/counted")
                            .policy(ONE)
                            .countStatuses(StatusSet.parse("401"))
                            .build())
                    .build();
        }

        private static final List<String> PATHS = List.of(
                "/blocking",
                "/local",
                "/local",
                "/elsewhere",
                "/elsewhere",
                "/delayed",
                "/delayed",
                "/parallel",
                "/counted",
                "/counted");

        private static List<String> request(int port, String user) throws Exception {
            HttpClient client = HttpClient.newHttpClient();
            List<String> answers = new ArrayList<>();
            for (String path : PATHS) {
                HttpRequest request = HttpRequest.newBuilder(URI.create("http://localhost:" + port + path))
                        .header("X-User", user)
                        .build();
                answers.add(path + " "
                        + client.send(request, HttpResponse.BodyHandlers.discarding())
                                .statusCode());
            }
            return answers;
        }

        public static void main(String[] arguments) throws Exception {
            WebHandler handler = exchange -> {
                if (exchange.getRequest().getPath().value().equals("/blocking")) {
                    LockSupport.parkNanos(1);
                }
                return exchange.getResponse().setComplete();
            };
            DisposableServer server = HttpServer.create()
                    .port(0)
                    .handle(new ReactorHttpHandlerAdapter(WebHttpHandlerBuilder.webHandler(handler)
                            .filter(RateLimitWebFilter.of(engine()))
                            .build()))
                    .bindNow();
            // Classes are loaded and resources are read by the first requests.
            request(server.port(), "warm-up");
            BlockHound.install();
            request(server.port(), "ann").forEach(System.out::println);
            System.exit(0);
        }
    }
}
