package io.github.reactorratelimit.webflux;

import static io.github.reactorratelimit.webflux.testing.Rules.USER;
import static io.github.reactorratelimit.webflux.testing.Rules.engine;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.local.LocalStore;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.webflux.key.WebKey;
import io.github.reactorratelimit.webflux.testing.KeptAlive;
import io.github.reactorratelimit.webflux.testing.TestServer;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Mono;

/** A flood of clients that nobody has seen before, each with a request of its own, over HTTP. */
class FloodTest {

    private static final int STRANGERS = Boolean.getBoolean("ratelimit.tests.full") ? 1_000_000 : 20_000;
    private static final int MAX_KEYS = 1_000;
    private static final int CONNECTIONS = 4;

    /** None comes back while the test runs. */
    private static final TokenBucket FIVE = TokenBucket.of(5, Duration.ofDays(100));

    /** Every key there ever was; cleared by the collector where nobody else holds it. */
    private final Queue<WeakReference<String>> keys = new ConcurrentLinkedQueue<>();

    private final WebKey noted = exchange -> USER.resolve(exchange).doOnNext(key -> keys.add(new WeakReference<>(key)));

    @RestController
    static class Api {

        @GetMapping("/hello")
        Mono<String> hello() {
            return Mono.just("hello");
        }
    }

    @Test
    @Timeout(value = 1, unit = TimeUnit.HOURS)
    void floodOfKeysLeavesTheTableBoundedAndTheLimitsOfOthersAsTheyWere() {
        RateLimiter limiter = RateLimiter.builder(FIVE)
                .store(LocalStore.withMaxKeys(MAX_KEYS))
                .build();
        RateLimitEngine engine =
                engine(RateLimitRule.named("all").key(noted).limiter(limiter).build());
        try (TestServer server = TestServer.start(context -> {
                    context.registerBean(Api.class);
                    context.registerBean(RateLimitWebFilter.class, () -> RateLimitWebFilter.of(engine));
                });
                KeptAlive connection = KeptAlive.to(server.port())) {
            assertThat(statuses(connection, "spent", 6)).containsExactly(200, 200, 200, 200, 200, 429);
            assertThat(statuses(connection, "thrifty", 3)).containsOnly(200);

            flood(server.port());

            assertThat(keys).hasSizeGreaterThan(STRANGERS);
            Await.until("no more keys are held than the table may hold", () -> held() <= MAX_KEYS);
            assertThat(statuses(connection, "spent", 2)).containsOnly(429);
            assertThat(statuses(connection, "thrifty", 3)).containsExactly(200, 200, 429);
        }
    }

    private static List<Integer> statuses(KeptAlive connection, String user, int requests) {
        return IntStream.range(0, requests)
                .mapToObj(i -> connection.get("/hello", "X-User: " + user))
                .toList();
    }

    private static void flood(int port) {
        List<CompletableFuture<Void>> floods = new ArrayList<>();
        for (int i = 0; i < CONNECTIONS; i++) {
            int first = i;
            floods.add(CompletableFuture.runAsync(() -> send(port, first), task -> new Thread(task, "flood").start()));
        }
        floods.forEach(CompletableFuture::join);
    }

    /** Past the bound strangers share cells: some of them are denied, none is answered otherwise. */
    private static void send(int port, int first) {
        try (KeptAlive connection = KeptAlive.to(port)) {
            for (int stranger = first; stranger < STRANGERS; stranger += CONNECTIONS) {
                assertThat(connection.get("/hello", "X-User: stranger-" + stranger))
                        .isIn(200, 429);
            }
        }
    }

    private long held() {
        System.gc();
        return keys.stream().filter(key -> key.get() != null).count();
    }
}
