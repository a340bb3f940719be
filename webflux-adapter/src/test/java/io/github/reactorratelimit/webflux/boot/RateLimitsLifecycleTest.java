package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterClosedException;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.webflux.RateLimitEngine;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/** Limits end after the last request, and with the application only. */
class RateLimitsLifecycleTest {

    private static final String LIMITS = """
            server.shutdown: graceful
            spring.lifecycle.timeout-per-shutdown-phase: 10m
            reactor-ratelimit.limits: {some: {key: all, limit: 3 per day}}
            """;

    @RestController
    static class Slow {

        final CountDownLatch asked = new CountDownLatch(1);
        final Sinks.Empty<Void> let = Sinks.empty();
        final RateLimitEngine engine;

        Slow(RateLimitEngine engine) {
            this.engine = engine;
        }

        /** Asks the limiter once more when the application is ending already. */
        @GetMapping("/slow")
        Mono<String> slow() {
            asked.countDown();
            return let.asMono()
                    .then(Mono.defer(
                            () -> engine.rule("some").orElseThrow().limiter().tryAcquire("other")))
                    .map(decision -> "allowed " + decision.allowed());
        }
    }

    @Test
    void limitersAreClosedWithTheApplication() {
        RateLimiter limiter;
        try (WebApplication application = WebApplication.start(LIMITS)) {
            limiter = application.bean(RateLimits.class).limiter("some").orElseThrow();
            assertThat(limiter.tryAcquire("key").block().allowed()).isTrue();
        }
        assertThatThrownBy(() -> limiter.tryAcquire("key").block()).isInstanceOf(RateLimiterClosedException.class);
    }

    @Test
    void requestsUnderWayEndFirst() throws Exception {
        WebApplication application = WebApplication.start(LIMITS, Slow.class);
        Slow slow = application.bean(Slow.class);
        CompletableFuture<HttpResponse<String>> answer = CompletableFuture.supplyAsync(() -> application.get("/slow"));
        slow.asked.await();
        int port = application.port();

        CompletableFuture<Void> ending = CompletableFuture.runAsync(application::close);
        Await.until("the server lets nobody in any more", () -> refuses(port));
        slow.let.tryEmitEmpty();

        assertThat(answer.get().statusCode()).isEqualTo(200);
        assertThat(answer.get().body()).isEqualTo("allowed true");
        ending.get();
    }

    private static boolean refuses(int port) throws IOException {
        try {
            new Socket(InetAddress.getLoopbackAddress(), port).close();
            return false;
        } catch (ConnectException refused) {
            return true;
        }
    }

    @Test
    void anApplicationThatIsOnlyStoppedKeepsItsLimits() {
        try (WebApplication application = WebApplication.start(LIMITS)) {
            RateLimiter limiter =
                    application.bean(RateLimits.class).limiter("some").orElseThrow();
            limiter.tryAcquire("key").block();

            application.context().stop();
            application.context().start();

            assertThat(limiter.peek("key").block().remaining()).isEqualTo(2);
            assertThat(application.bean(RateLimits.class).isRunning()).isTrue();
        }
    }
}
