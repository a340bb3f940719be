package io.github.reactorratelimit.webflux;

import static io.github.reactorratelimit.webflux.testing.Rules.byUser;
import static io.github.reactorratelimit.webflux.testing.Rules.engine;
import static io.github.reactorratelimit.webflux.testing.Rules.few;
import static io.github.reactorratelimit.webflux.testing.Rules.left;
import static java.time.Duration.ofDays;
import static java.time.Duration.ofMinutes;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.webflux.testing.Counting;
import io.github.reactorratelimit.webflux.testing.RawResponse;
import io.github.reactorratelimit.webflux.testing.TestServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Mono;

/** Requests that wait for their turn, on a real server; how long they wait is the core's to prove. */
class WaitingRequestsTest {

    private static final String ANN = "X-User: ann";

    private final Counting counting = new Counting();
    private final RateLimiter perUser = RateLimiter.of(few(10));
    private TestServer server;

    @RestController
    static class Api {
        final AtomicInteger calls = new AtomicInteger();

        @RequestMapping("/hello")
        Mono<String> hello() {
            calls.incrementAndGet();
            return Mono.just("hello");
        }
    }

    private void start(RateLimitRule... rules) {
        server = TestServer.start(context -> {
            context.registerBean(Api.class);
            context.registerBean(RateLimitWebFilter.class, () -> RateLimitWebFilter.of(engine(rules)));
        });
    }

    private int calls() {
        return server.context().getBean(Api.class).calls.get();
    }

    private RateLimiter counted(RateLimitPolicy policy) {
        return RateLimiter.builder(policy).recorder(counting).build();
    }

    @AfterEach
    void stop() {
        server.close();
    }

    @Test
    void requestWaitsForItsTurn() {
        RateLimiter slow = counted(few(1));
        start(byUser("slow").limiter(slow).delay(ofDays(1)).build());
        assertThat(server.get("/hello", ANN).status()).isEqualTo(200);
        CompletableFuture<RawResponse> second = CompletableFuture.supplyAsync(() -> server.get("/hello", ANN));
        Await.until("it waits", () -> counting.waiting.get() == 1);
        assertThat(calls()).isEqualTo(1);

        slow.reset("ann").block();

        assertThat(second.join().status()).isEqualTo(200);
        assertThat(calls()).isEqualTo(2);
    }

    @Test
    void requestThatWouldWaitTooLongIsDeniedAtOnceAndCostsNothing() {
        start(
                byUser("user").limiter(perUser).build(),
                byUser("slow").policy(few(1)).delay(ofMinutes(1)).build());
        server.get("/hello", ANN);

        RawResponse denied = server.get("/hello", ANN);

        assertThat(denied.status()).isEqualTo(429);
        assertThat(denied.header("RateLimit")).startsWith("\"slow\";r=0;t=");
        assertThat(left(perUser, "ann")).isEqualTo(9);
    }

    @Test
    void requestThatIsDeniedAnywayDoesNotWaitFirst() {
        RateLimiter slow = counted(few(1));
        start(
                byUser("slow").limiter(slow).delay(ofDays(1)).build(),
                byUser("hard").policy(few(1)).build());
        server.get("/hello", ANN);

        assertThat(server.get("/hello", ANN).header("RateLimit")).startsWith("\"hard\"");
        assertThat(counting.waiting).hasValue(0);
    }

    @Test
    void requestsAboveTheSoftLimitWaitAndThoseAboveTheHardOneAreDenied() {
        RateLimiter soft = counted(few(1));
        RateLimiter hard = RateLimiter.of(few(2));
        start(byUser("both").limiter(hard).delayAbove(soft, ofDays(1)).build());
        RawResponse first = server.get("/hello", ANN);
        assertThat(first.status()).isEqualTo(200);
        assertThat(first.header("RateLimit")).startsWith("\"both\";r=1;");
        CompletableFuture<RawResponse> second = CompletableFuture.supplyAsync(() -> server.get("/hello", ANN));
        Await.until("it waits", () -> counting.waiting.get() == 1);

        assertThat(server.get("/hello", ANN).status()).isEqualTo(429);

        soft.reset("ann").block();
        assertThat(second.join().status()).isEqualTo(200);
    }

    @ParameterizedTest
    @ValueSource(strings = {"GET", "POST"})
    void clientThatDisconnectsWhileWaitingLeavesTheLineAndGetsEverythingBack(String method) throws IOException {
        RateLimiter slow = counted(few(1));
        start(
                byUser("user").limiter(perUser).build(),
                byUser("slow").limiter(slow).delay(ofDays(1)).build());
        server.get("/hello", ANN);

        try (Socket socket = open(method)) {
            Await.until("it waits", () -> counting.waiting.get() == 1);
            assertThat(left(perUser, "ann")).isEqualTo(8);
            assertThat(socket.isClosed()).isFalse();
        }

        Await.until("it left the line", () -> counting.cancelled.get() == 1);
        Await.until("it got its other permit back", () -> left(perUser, "ann") == 9);
        slow.reset("ann").block();
        assertThat(server.get("/hello", ANN).status())
                .as("nobody is in its way")
                .isEqualTo(200);
        assertThat(calls()).isEqualTo(2);
    }

    private Socket open(String method) throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port());
        String body = method.equals("POST") ? "body" : "";
        String request = method + " /hello HTTP/1.1\r\nHost: localhost\r\n" + ANN + "\r\nContent-Length: "
                + body.length() + "\r\n\r\n" + body;
        socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
        socket.getOutputStream().flush();
        return socket;
    }

    @Test
    void clientThatDisconnectsWhileWaitingForAConcurrencyLimitHoldsNothing() throws IOException {
        RateLimiter parallel = counted(ConcurrencyLimit.of(1));
        start(
                byUser("user").limiter(perUser).build(),
                byUser("parallel").limiter(parallel).delay(ofDays(1)).build());
        var lease = parallel.acquireLease("ann", 1, ofDays(1)).block();

        try (Socket socket = open("GET")) {
            Await.until("it waits", () -> counting.waiting.get() == 1);
            assertThat(socket.isClosed()).isFalse();
        }

        Await.until("it left the line", () -> counting.cancelled.get() == 1);
        Await.until("it got its other permit back", () -> left(perUser, "ann") == 10);
        lease.release().block();
        assertThat(left(parallel, "ann")).isEqualTo(1);
        assertThat(calls()).isZero();
    }

    @Test
    void requestThatWaitsInEarnestIsLetPassByTime() {
        start(byUser("paced")
                .policy(TokenBucket.perSecond(50).withBurst(1))
                .delay(ofDays(1))
                .build());

        for (int i = 0; i < 5; i++) {
            assertThat(server.get("/hello", ANN).status()).isEqualTo(200);
        }
    }
}
