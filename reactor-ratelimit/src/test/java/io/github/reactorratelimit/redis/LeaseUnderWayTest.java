package io.github.reactorratelimit.redis;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofDays;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.FaultProxy;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Leased permits while a call for the key is on its way. The limiter's clock is moved by hand. */
@ExtendWith(RedisExtension.class)
class LeaseUnderWayTest {

    private static final Duration PATIENCE = ofSeconds(30);
    private static final Duration LEASE = ofSeconds(1);

    /** What was debited and not given back can be read off it exactly. */
    private static final RateLimitPolicy POLICY =
            FixedWindow.of(1_000, ofDays(200)).fromFirstRequest();

    private final String name = "under-way-" + UUID.randomUUID();
    private final HandClock clock = new HandClock();
    private final FaultProxy proxy;
    private final RedisClient client;
    private final StatefulRedisConnection<String, String> slow;
    private final StatefulRedisConnection<String, String> direct;
    private final RateLimiter limiter;
    private final RateLimiter plain;

    LeaseUnderWayTest(Standalone redis) {
        proxy = FaultProxy.before(redis.uri());
        client = RedisClient.create(proxy.uri());
        slow = client.connect();
        direct = redis.connect();
        limiter = limiter(POLICY, RedisStore.of(slow).withDeadline(PATIENCE).leasing(LEASE));
        plain = limiter(POLICY, RedisStore.of(direct).withDeadline(PATIENCE));
    }

    private RateLimiter limiter(RateLimitPolicy policy, RedisStore store) {
        return RateLimiter.builder(policy)
                .name(name)
                .scheduler(clock)
                .store(store)
                .build();
    }

    @AfterEach
    void disconnect() {
        slow.close();
        direct.close();
        client.shutdown(ZERO, ofSeconds(1));
        proxy.close();
    }

    /** Debited in Redis and not given back. */
    private long debited() {
        Decision seen = plain.peek("k").block(PATIENCE);
        return seen.limit() - seen.remaining();
    }

    private long serverMicros() {
        List<String> time = direct.sync().time();
        return Long.parseLong(time.get(0)) * 1_000_000 + Long.parseLong(time.get(1));
    }

    /** Two permits are spent, eight are here. */
    @BeforeEach
    void lease() {
        limiter.tryAcquire("k").block(PATIENCE);
        limiter.tryAcquire("k").block(PATIENCE);
        Await.until("the first batch", () -> debited() == 10);
        Await.until("it is here", () -> limiter.peek("k").block(PATIENCE).remaining() == 998);
    }

    private static <T> T soon(CompletableFuture<T> future) {
        return future.orTimeout(PATIENCE.toSeconds(), TimeUnit.SECONDS).join();
    }

    /** After four more are spent the next batch is asked for. */
    private void stallRefill() {
        proxy.stall();
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("k", 4)).isTrue();
    }

    @Test
    void leaseTimeCountsFromBeforeTheCallWasSent() {
        stallRefill();
        clock.advance(LEASE);
        proxy.pass();
        Await.until("the batch has come and all are back", () -> {
            assertThat(DirectLimiter.of(limiter).tryAcquireNow("k", 1)).isFalse();
            limiter.peek("k").block(PATIENCE);
            return debited() == 6;
        });
    }

    @Test
    void permitsHeldForLongerThanTheLeaseTimeAreTakenAnew() {
        proxy.stall();
        CompletableFuture<Decision> asked = limiter.tryAcquire("k", 10).toFuture();
        clock.advance(LEASE);
        long beforeTheAnswer = serverMicros();
        proxy.pass();
        Decision decision = soon(asked);
        assertThat(decision.allowed()).isTrue();
        assertThat(decision.debit().orElseThrow().atTick()).isGreaterThanOrEqualTo(beforeTheAnswer);
        Await.until("what was held is back", () -> debited() == 12);
    }

    @Test
    void closingWaitsForTheBatchUnderWayAndGivesItBack() {
        stallRefill();
        CompletableFuture<Void> closed = limiter.close().toFuture();
        assertThat(closed).isNotDone();
        proxy.pass();
        soon(closed);
        assertThat(debited()).isEqualTo(6);
    }

    @Test
    void permitsHeldByADeniedAskGoBackIfTheirBatchIsGone() {
        proxy.stall();
        CompletableFuture<Decision> asked = limiter.tryAcquire("k", 9).toFuture();
        assertThat(plain.tryAcquire("k", 990).block(PATIENCE).allowed()).isTrue();
        CompletableFuture<Void> paused = limiter.pause("k", ofHours(1)).toFuture();
        proxy.pass();
        assertThat(soon(asked).allowed()).isFalse();
        soon(paused);
        plain.pause("k", ZERO).block(PATIENCE);
        Await.until("eight are back", () -> debited() == 992);
    }

    static Stream<RateLimitPolicy> policiesToWaitFor() {
        return Stream.of(POLICY, TokenBucket.of(1_000, ofDays(200)));
    }

    @ParameterizedTest
    @MethodSource("policiesToWaitFor")
    void batchThatComesWhileSomebodyWaitsIsSpentByNobodyElse(RateLimitPolicy policy) {
        RateLimiter leasing =
                limiter(policy, RedisStore.of(slow).withDeadline(PATIENCE).leasing(ofSeconds(60)));
        leasing.tryAcquire("w").block(PATIENCE);
        leasing.tryAcquire("w").block(PATIENCE);
        RateLimiter reader = limiter(policy, RedisStore.of(direct).withDeadline(PATIENCE));
        Await.until("a batch", () -> reader.peek("w").block(PATIENCE).remaining() == 990);
        Await.until("it is here", () -> leasing.peek("w").block(PATIENCE).remaining() == 998);
        proxy.stall();
        assertThat(DirectLimiter.of(leasing).tryAcquireNow("w", 4))
                .as("after which a batch of 16 is asked for")
                .isTrue();
        CompletableFuture<Decision> first = leasing.acquire("w", 990).toFuture();
        proxy.pass();
        leasing.peek("w").block(PATIENCE);
        assertThat(DirectLimiter.of(leasing).tryAcquireNow("w", 1)).isFalse();
        assertThat(leasing.tryAcquire("w").block(PATIENCE).allowed()).isFalse();
        assertThat(leasing.peek("w").block(PATIENCE).allowed()).isFalse();
        assertThat(first).isNotDone();
        first.cancel(true);
        assertThat(DirectLimiter.of(leasing).tryAcquireNow("w", 16))
                .as("when nobody waits")
                .isTrue();
    }

    @Test
    void askThatIsCancelledGivesBackWhatItHeldAndWhatCameForIt() {
        proxy.stall();
        limiter.tryAcquire("k", 9).subscribe().dispose();
        proxy.pass();
        limiter.peek("k").block(PATIENCE);
        limiter.close().block(PATIENCE);
        Await.until("all but the two that were spent are back", () -> debited() == 2);
    }

    /** What is held and what Redis has are enough together: a second call, which has what is left of the time. */
    @Test
    void requestThatNeedsTwoCallsHasOneDeadline() {
        RateLimiter leasing = RateLimiter.builder(POLICY)
                .name(name)
                .store(RedisStore.of(slow).withDeadline(ofSeconds(3)).leasing(ofSeconds(60)))
                .build();
        leasing.tryAcquire("d").block(PATIENCE);
        leasing.tryAcquire("d").block(PATIENCE);
        Await.until("a batch", () -> plain.peek("d").block(PATIENCE).remaining() == 990);
        Await.until("it is here", () -> leasing.peek("d").block(PATIENCE).remaining() == 998);
        assertThat(plain.tryAcquire("d", 985).block(PATIENCE).allowed()).isTrue();
        proxy.delayReplies(ofMillis(2_500));
        long askedNanos = System.nanoTime();
        Decision decision = leasing.tryAcquire("d", 9).block(PATIENCE);
        assertThat(Duration.ofNanos(System.nanoTime() - askedNanos)).isLessThan(ofMillis(4_500));
        assertThat(decision.degraded()).isTrue();
        proxy.pass();
        leasing.close().block(PATIENCE);
    }
}
