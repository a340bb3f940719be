package io.github.reactorratelimit.redis;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.FaultProxy;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;

/** What becomes of takes while Redis, or what was asked for one key, is slow or away. */
@ExtendWith(RedisExtension.class)
class TakeFailureTest {

    private static final Duration PATIENCE = ofSeconds(30);
    private static final Duration SHORT = ofMillis(100);

    private final FaultProxy proxy;
    private final RedisClient client;
    private final StatefulRedisConnection<String, String> connection;

    TakeFailureTest(Standalone redis) {
        proxy = FaultProxy.before(redis.uri());
        client = RedisClient.create(proxy.uri());
        client.setOptions(ClientOptions.builder()
                .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                .build());
        connection = client.connect();
    }

    @AfterEach
    void close() {
        connection.close();
        client.shutdown(Duration.ZERO, ofSeconds(1));
        proxy.close();
    }

    private RateLimiter limiter(Duration deadline) {
        return RateLimiter.builder(TokenBucket.perHour(1_000))
                .name("take-failure-" + UUID.randomUUID())
                .store(RedisStore.of(connection)
                        .withDeadline(deadline)
                        .withoutSelfTest()
                        .whenUnavailable(FailureMode.open()))
                .build();
    }

    private static boolean isDegraded(Mono<Decision> decision) {
        return decision.block(PATIENCE).degraded();
    }

    private long scripts() {
        return proxy.commands("EVALSHA") + proxy.commands("EVAL");
    }

    @Test
    void takeAfterAFailureIsSent() {
        RateLimiter limiter = limiter(ofSeconds(1));
        Await.until("Redis answers", () -> !isDegraded(limiter.tryAcquire("k")));
        proxy.blackHole();
        assertThat(isDegraded(limiter.tryAcquire("k"))).isTrue();
        proxy.pass();
        Await.until("Redis answers", () -> !isDegraded(limiter.peek("k")));
        long before = scripts();
        limiter.tryAcquire("k").block(PATIENCE);
        assertThat(scripts()).isGreaterThan(before);
    }

    @Test
    void noKeyWaitsForWhatIsAskedForAnother() {
        RateLimiter limiter = limiter(PATIENCE);
        limiter.tryAcquire("other").block(PATIENCE);
        limiter.peek("k").block(PATIENCE);
        proxy.stall();
        long before = scripts();
        CompletableFuture<Decision> sent = limiter.peek("k").toFuture();
        CompletableFuture<Decision> unsent = limiter.peek("k").toFuture();
        CompletableFuture<Decision> behind = limiter.tryAcquire("k").toFuture();
        CompletableFuture<Decision> other = limiter.tryAcquire("other").toFuture();
        try {
            Await.until("the take of the other key is sent", ofSeconds(10), () -> scripts() == before + 2);
        } finally {
            proxy.pass();
        }
        List<Decision> decisions = Stream.of(sent, unsent, behind, other)
                .map(decision -> Mono.fromFuture(decision).block(PATIENCE))
                .toList();
        assertThat(decisions)
                .as("sent before anything that was sent earlier had failed")
                .noneMatch(Decision::degraded);
        assertThat(decisions).extracting(Decision::remaining).containsExactly(1_000L, 1_000L, 999L, 998L);
    }

    /** The reply brings a debit that nobody wants any more: it is refunded before the limiter is closed. */
    @Test
    void closeWaitsForTheRefundOfWhatWasCancelled() {
        RateLimiter limiter = limiter(PATIENCE);
        limiter.tryAcquire("k", 1_000).flatMap(limiter::refund).block(PATIENCE);
        for (int i = 0; i < 50; i++) {
            RateLimiter closing = RateLimiter.builder(TokenBucket.perHour(1_000))
                    .name(limiter.name())
                    .store(RedisStore.of(connection).withDeadline(PATIENCE).withoutSelfTest())
                    .build();
            closing.peek("k").block(PATIENCE);
            proxy.stall();
            long before = scripts();
            Disposable request = closing.tryAcquire("k", 700).subscribe();
            Await.until("it is sent", () -> scripts() == before + 1);
            request.dispose();
            CompletableFuture<Void> closed = closing.close().toFuture();
            assertThat(closed).isNotDone();
            proxy.pass();
            Mono.fromFuture(closed).block(PATIENCE);
            assertThat(limiter.peek("k").block(PATIENCE).remaining()).isEqualTo(1_000);
        }
    }

    @Test
    void limiterThatStartsWhileRedisIsAwayStopsAsking() {
        proxy.blackHole();
        RateLimiter limiter = limiter(SHORT);
        for (int i = 0; i < CircuitBreaker.FAILURES_IN_A_ROW + 1; i++) {
            assertThat(isDegraded(limiter.tryAcquire("k"))).isTrue();
        }
        long before = scripts();
        for (int i = 0; i < 20; i++) {
            assertThat(isDegraded(limiter.tryAcquire("k"))).isTrue();
        }
        assertThat(scripts() - before).as("probes").isLessThan(10);
    }
}
