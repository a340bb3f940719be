package io.github.reactorratelimit.redis;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.redis.FaultProxy;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** What one caller asks for a key is done in the order in which it asks, though takes travel in other calls than the rest. */
@ExtendWith(RedisExtension.class)
class TakeOrderTest {

    private static final Duration PATIENCE = ofSeconds(30);
    private static final long CAPACITY = 1_000;

    private final FaultProxy proxy;
    private final RedisClient client;
    private final StatefulRedisConnection<String, String> connection;

    TakeOrderTest(Standalone redis) {
        proxy = FaultProxy.before(redis.uri());
        client = RedisClient.create(proxy.uri());
        connection = client.connect();
    }

    @BeforeEach
    void farAway() {
        proxy.latency(ofMillis(20));
    }

    @AfterEach
    void close() {
        connection.close();
        client.shutdown(Duration.ZERO, ofSeconds(1));
        proxy.close();
    }

    private RateLimiter limiter(UnaryOperator<RedisStore> options) {
        RateLimiter limiter = RateLimiter.builder(TokenBucket.perHour(CAPACITY))
                .name("order-" + UUID.randomUUID())
                .store(options.apply(
                        RedisStore.of(connection).withDeadline(PATIENCE).withoutSelfTest()))
                .build();
        limiter.tryAcquire("warm-up").block(PATIENCE);
        return limiter;
    }

    private static List<Long> remaining(List<Mono<Long>> asks) {
        return Flux.mergeSequential(asks, asks.size(), 1).collectList().block(PATIENCE);
    }

    private static Mono<Long> take(RateLimiter limiter) {
        return limiter.tryAcquire("k").map(Decision::remaining);
    }

    @Test
    void resetAndLookWaitForTheTakesThatWereAskedBefore() {
        RateLimiter limiter = limiter(store -> store);
        List<Mono<Long>> asks = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            asks.add(take(limiter));
        }
        asks.add(limiter.peek("k", 1).map(Decision::remaining));
        asks.add(limiter.reset("k").thenReturn(-1L));
        asks.add(take(limiter));
        asks.add(take(limiter));

        assertThat(remaining(asks))
                .containsExactly(999L, 998L, 997L, 996L, 995L, 994L, 993L, 992L, 991L, 990L, 990L, -1L, 999L, 998L);
    }

    @Test
    void takeWaitsForTheResetThatWasAskedBefore() {
        RateLimiter limiter = limiter(store -> store);
        remaining(List.of(take(limiter), take(limiter), take(limiter)));

        List<Long> seen = remaining(List.of(
                limiter.peek("k", 1).map(Decision::remaining),
                limiter.reset("k").thenReturn(-1L),
                take(limiter),
                take(limiter)));

        assertThat(seen).containsExactly(997L, -1L, 999L, 998L);
    }

    @Test
    void takesAreShortAgainOnceWhatWasAskedBetweenIsSent() {
        RateLimiter limiter = limiter(store -> store);
        List<Mono<Long>> asks = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            asks.add(i == 50 ? limiter.peek("k", 1).map(Decision::remaining) : take(limiter));
        }
        List<Long> expected = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            expected.add(CAPACITY - (i < 50 ? i + 1 : i));
        }

        assertThat(remaining(asks)).isEqualTo(expected);
    }
}
