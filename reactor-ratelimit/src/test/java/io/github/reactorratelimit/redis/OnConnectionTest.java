package io.github.reactorratelimit.redis;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.FaultProxy;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.UnaryOperator;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Takes that are answered on the thread of the connection, if that is chosen. */
@ExtendWith(RedisExtension.class)
class OnConnectionTest {

    private static final Duration PATIENCE = ofSeconds(30);
    private static final long CAPACITY = 1_000;

    private final FaultProxy proxy;
    private final RedisClient client;
    private final StatefulRedisConnection<String, String> connection;

    OnConnectionTest(Standalone redis) {
        proxy = FaultProxy.before(redis.uri());
        client = RedisClient.create(proxy.uri());
        connection = client.connect();
    }

    @AfterEach
    void close() {
        connection.close();
        client.shutdown(Duration.ZERO, ofSeconds(1));
        proxy.close();
    }

    /** Nothing flows back while a test runs, and the server knows both scripts: it refuses one that it does not know, and it is sent again. */
    private RateLimiter limiter(UnaryOperator<RedisStore> option) {
        RedisStore store = RedisStore.of(connection).withDeadline(PATIENCE).withoutSelfTest();
        RateLimiter limiter = RateLimiter.builder(new TokenBucket(CAPACITY, CAPACITY, ofDays(300)))
                .name("on-connection-" + UUID.randomUUID())
                .store(option.apply(store))
                .build();
        limiter.reset("warm-up")
                .then(limiter.tryAcquire("warm-up"))
                .then(limiter.tryAcquire("warm-up"))
                .block(PATIENCE);
        return limiter;
    }

    private RateLimiter limiter() {
        return limiter(RedisStore::answeringOnConnection);
    }

    private static boolean isOnConnection() {
        return Thread.currentThread().getName().startsWith("lettuce-");
    }

    /** The answers come when all is asked: so the thread that asks finds none. */
    private <T> List<T> askWhileStalled(List<Mono<T>> asks) {
        proxy.stall();
        List<CompletableFuture<T>> answers = new ArrayList<>();
        try {
            asks.forEach(ask -> answers.add(ask.toFuture()));
        } finally {
            proxy.pass();
        }
        return answers.stream()
                .map(answer -> Mono.fromFuture(answer).block(PATIENCE))
                .toList();
    }

    private boolean isAnsweredOnConnection(RateLimiter limiter) {
        return askWhileStalled(List.of(limiter.tryAcquire("k").map(decision -> isOnConnection())))
                .get(0);
    }

    /** A task that told an answer before may not have ended yet: then it tells the next one too. */
    @Test
    void answersComeOnTheConnectionIfChosen() {
        RateLimiter limiter = limiter();
        Await.until("an answer on the connection", () -> isAnsweredOnConnection(limiter));
    }

    @Test
    void subscribersNeverRunOnTheConnectionUnlessChosen() {
        RateLimiter limiter = limiter(store -> store);
        List<Mono<Boolean>> asks = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            asks.add(limiter.tryAcquire("k").map(decision -> isOnConnection()));
        }
        assertThat(askWhileStalled(asks)).containsOnly(false);
    }

    @Test
    void whatIsAskedWhereAnAnswerCameIsDecidedInOrder() {
        RateLimiter limiter = limiter();
        List<Long> remaining = Mono.defer(() -> limiter.tryAcquire("k"))
                .repeat(499)
                .map(Decision::remaining)
                .collectList()
                .block(PATIENCE);
        assertThat(remaining)
                .isEqualTo(LongStream.rangeClosed(1, 500)
                        .mapToObj(spent -> CAPACITY - spent)
                        .toList());
    }

    @Test
    void eachPermitIsGivenOnceHoweverManyAsk() {
        RateLimiter limiter = limiter();
        Long allowed = Flux.range(0, 3_000)
                .flatMap(i -> limiter.tryAcquire("k"), 64)
                .filter(Decision::allowed)
                .count()
                .block(PATIENCE);
        assertThat(allowed).isEqualTo(CAPACITY);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void whatOneCallerAsksIsDoneInOrderWhileOthersAsk(boolean onConnection) {
        // Where nothing is left a denial that is remembered would be answered on the spot, and the others would ask
        // without a pause.
        RateLimiter limiter =
                limiter(store -> (onConnection ? store.answeringOnConnection() : store).withoutDenialCache());
        AtomicBoolean enough = new AtomicBoolean();
        List<CompletableFuture<Long>> others = new ArrayList<>();
        for (String key : List.of("a", "b")) {
            others.add(Mono.defer(() -> limiter.tryAcquire(key))
                    .repeat(() -> !enough.get())
                    .count()
                    .toFuture());
        }
        try {
            for (int round = 0; round < 300; round++) {
                List<CompletableFuture<Long>> seen = new ArrayList<>();
                seen.add(limiter.tryAcquire("k").map(Decision::remaining).toFuture());
                seen.add(limiter.reset("k").thenReturn(-1L).toFuture());
                seen.add(limiter.tryAcquire("k").map(Decision::remaining).toFuture());
                seen.add(limiter.peek("k").map(Decision::remaining).toFuture());
                seen.add(limiter.tryAcquire("k").map(Decision::remaining).toFuture());
                List<Long> last = seen.stream()
                        .map(answer -> Mono.fromFuture(answer).block(PATIENCE))
                        .toList();
                assertThat(last.subList(1, 5))
                        .as("round " + round)
                        .containsExactly(-1L, CAPACITY - 1, CAPACITY - 1, CAPACITY - 2);
            }
        } finally {
            enough.set(true);
        }
        assertThat(others)
                .allSatisfy(other ->
                        assertThat(Mono.fromFuture(other).block(PATIENCE)).isPositive());
    }
}
