package io.github.reactorratelimit.redis;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.FaultProxy;
import io.github.reactorratelimit.testing.redis.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;

/** Slots that Redis reserved, or was to free, while its replies did not come in time: other processes do not wait for them. */
@Tag("slow")
class LateSlotsTest {

    private static final Duration PATIENCE = ofSeconds(30);
    private static final Duration DEADLINE = ofMillis(50);
    private static final String KEY = "k";
    private static final int MANY = 100;

    /** Nobody leaves while a test runs: what the next comer waits tells the slots ahead of it. */
    private static final TokenBucket POLICY = TokenBucket.perMinute(1);

    private final RedisServer server = RedisServer.start();
    private final FaultProxy proxy = FaultProxy.before(server.uri());
    private final RedisStore store = connect(proxy.uri());
    private final RedisStore direct = connect(server.uri());
    private final RateLimiter limiter = RateLimiter.builder(POLICY)
            .name("late")
            .store(store.withDeadline(DEADLINE).whenUnavailable(FailureMode.closed()))
            .build();
    private final RateLimiter other = RateLimiter.builder(POLICY)
            .name("late")
            .store(direct.withDeadline(PATIENCE))
            .build();

    private static RedisStore connect(io.lettuce.core.RedisURI uri) {
        return RedisStore.connect(uri).block(PATIENCE).withoutSelfTest();
    }

    @BeforeEach
    void spendThePermit() {
        assertThat(other.tryAcquire(KEY).block(PATIENCE).allowed()).isTrue();
        awaitAnswers();
    }

    @AfterEach
    void close() {
        proxy.pass();
        limiter.close().block(PATIENCE);
        other.close().block(PATIENCE);
        store.close().block(PATIENCE);
        direct.close().block(PATIENCE);
        proxy.close();
        server.close();
    }

    private void awaitAnswers() {
        Await.until(
                "Redis answers in time",
                PATIENCE,
                () -> !limiter.peek("other").block(PATIENCE).degraded());
    }

    private List<Disposable> await(int count) {
        return IntStream.range(0, count)
                .mapToObj(waiter -> limiter.acquire(KEY).subscribe(allowed -> {}, closed -> {}))
                .toList();
    }

    private long slotsAhead() {
        Duration wait = other.peek(KEY).block(PATIENCE).retryAfter().orElse(Duration.ZERO);
        return wait.toMinutes();
    }

    private void awaitSlotsAhead(int count) {
        Await.until(count + " slots lie ahead", ofSeconds(10), () -> slotsAhead() == count);
    }

    @Test
    void slotOfAReplyThatComesTooLateIsFreed() {
        proxy.delayReplies(DEADLINE.multipliedBy(2));
        List<Disposable> waiter = await(1);
        long before = proxy.commands("EVALSHA");
        Await.until("many reservations", PATIENCE, () -> proxy.commands("EVALSHA") >= before + 20);
        assertThat(slotsAhead()).isLessThanOrEqualTo(3);
        proxy.pass();
        awaitAnswers();
        awaitSlotsAhead(1);
        waiter.forEach(Disposable::dispose);
        awaitSlotsAhead(0);
    }

    @Test
    void manySlotsThatAStallMadeLateAreFreed() {
        proxy.stall();
        long before = proxy.requestBytes();
        List<Disposable> waiters = await(MANY);
        Await.until("reservations", PATIENCE, () -> proxy.requestBytes() > before);
        Await.until(
                "all have missed their deadline",
                PATIENCE,
                () -> limiter.peek(KEY).block(PATIENCE).degraded());
        proxy.pass();
        awaitAnswers();
        awaitSlotsAhead(MANY);
        waiters.forEach(Disposable::dispose);
        awaitSlotsAhead(0);
    }

    @Test
    void slotsThatCouldNotBeFreedInAStallAreFreedAfterIt() {
        List<Disposable> waiters = await(MANY);
        awaitSlotsAhead(MANY);
        proxy.stall();
        waiters.forEach(Disposable::dispose);
        Await.until(
                "it is noticed",
                PATIENCE,
                () -> limiter.peek(KEY).block(PATIENCE).degraded());
        proxy.pass();
        awaitSlotsAhead(0);
    }

    @Test
    void slotsThatCouldNotBeFreedWithoutAConnectionAreFreedWithTheNext() {
        List<Disposable> waiters = await(MANY);
        awaitSlotsAhead(MANY);
        proxy.refuse();
        Await.until(
                "it is noticed",
                PATIENCE,
                () -> limiter.peek(KEY).block(PATIENCE).degraded());
        waiters.forEach(Disposable::dispose);
        proxy.pass();
        awaitSlotsAhead(0);
    }
}
