package io.github.reactorratelimit.redis;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofDays;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofNanos;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.CommandCount;
import io.github.reactorratelimit.testing.redis.Dedicated;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Mono;

/** When leased permits are spent and when they go back. The limiter's clock is moved by hand. */
@ExtendWith(RedisExtension.class)
class LeaseTest {

    private static final Duration PATIENCE = ofSeconds(30);
    private static final Duration LEASE = ofSeconds(1);

    /** What was debited and not given back can be read off it exactly. */
    private static final RateLimitPolicy POLICY =
            FixedWindow.of(1_000, ofDays(200)).fromFirstRequest();

    private final Standalone redis;
    private final StatefulRedisConnection<String, String> connection;
    private final String name = "lease-" + UUID.randomUUID();
    private final HandClock clock = new HandClock();
    private final RateLimiter limiter;
    private final RateLimiter plain;

    LeaseTest(@Dedicated Standalone redis) {
        this.redis = redis;
        this.connection = redis.connect();
        this.limiter = limiter(POLICY, store().leasing(LEASE));
        this.plain = limiter(POLICY, store());
    }

    private RedisStore store() {
        return RedisStore.of(connection).withoutSelfTest().withDeadline(PATIENCE);
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
        connection.close();
    }

    private Decision ask(long permits) {
        return limiter.tryAcquire("k", permits).block(PATIENCE);
    }

    /** Debited in Redis and not given back. */
    private long debited() {
        Decision seen = plain.peek("k").block(PATIENCE);
        return seen.limit() - seen.remaining();
    }

    /** Two asks, after which the first batch comes. */
    private void lease() {
        ask(1);
        ask(1);
        Await.until("the first batch", () -> debited() == 10);
        Await.until("it is here", () -> limiter.peek("k").block(PATIENCE).remaining() == 998);
    }

    @Test
    void leasedPermitsAreSpentWithoutACall() {
        lease();
        CommandCount count = CommandCount.on(redis);
        for (int i = 0; i < 3; i++) {
            Decision decision = ask(1);
            assertThat(decision.allowed()).isTrue();
            assertThat(decision.remaining()).isEqualTo(997 - i);
        }
        assertThat(limiter.acquire("k").block(PATIENCE).allowed())
                .as("also by those who would wait")
                .isTrue();
        assertThat(count.scripts()).as("calls, the next batch among them").isLessThanOrEqualTo(1);
    }

    @Test
    void tryAcquireNowSpendsWhatIsHere() {
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("k", 1)).isFalse();
        lease();
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("k", 3)).isTrue();
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("k", 100)).isFalse();
        assertThat(limiter.peek("k").block(PATIENCE).remaining()).isEqualTo(995);
    }

    @Test
    void keyAskedForOnceIsNotLeased() {
        ask(1);
        clock.advance(LEASE);
        ask(1);
        assertThat(debited()).isEqualTo(2);
        assertThat(ask(1).remaining()).isEqualTo(997);
        Await.until("two asks within the lease time", () -> debited() == 11);
    }

    @Test
    void permitIsSpentBeforeTheLeaseTimeIsOverAndNeverAfter() {
        lease();
        clock.advance(LEASE.minusNanos(1));
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("k", 1)).isTrue();
        clock.advance(ofNanos(1));
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("k", 1)).isFalse();
        Await.until("the others are back", () -> debited() == 3);
    }

    @Test
    void whatIsNotSpentGoesBack() {
        lease();
        ask(1);
        clock.advance(LEASE);
        Await.until("seven are back", () -> debited() == 3);
    }

    @Test
    void whatIsHereAndWhatIsInRedisIsSpentTogether() {
        lease();
        Decision most = ask(990);
        assertThat(most.allowed()).isTrue();
        assertThat(most.remaining()).isEqualTo(8);
        assertThat(debited()).isGreaterThanOrEqualTo(992);
        assertThat(ask(9).allowed()).isFalse();
        assertThat(ask(8).allowed()).isTrue();
        limiter.refund(most).block(PATIENCE);
        assertThat(limiter.peek("k").block(PATIENCE).remaining()).isEqualTo(990);
    }

    @Test
    void closingGivesBack() {
        lease();
        ask(1);
        limiter.close().block(PATIENCE);
        assertThat(debited()).isEqualTo(3);
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("k", 1)).isFalse();
    }

    @Test
    void refundGoesToTheTimeOfTheBatch() {
        lease();
        Decision leased = ask(4);
        limiter.refund(leased).block(PATIENCE);
        limiter.refund(leased).block(PATIENCE);
        limiter.close().block(PATIENCE);
        assertThat(debited()).isEqualTo(2);
    }

    @Test
    void resetDropsWhatIsHere() {
        lease();
        limiter.reset("k").block(PATIENCE);
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("k", 1)).isFalse();
        limiter.close().block(PATIENCE);
        assertThat(debited()).isZero();
    }

    @Test
    void pausedKeyIsNotSpentFromAndItsPermitsGoBack() {
        lease();
        limiter.pause("k", ofHours(1)).block(PATIENCE);
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("k", 1)).isFalse();
        assertThat(ask(1).allowed()).isFalse();
        plain.pause("k", ZERO).block(PATIENCE);
        Await.until("all are back", () -> debited() == 2);
    }

    @Test
    void batchUnderWayWhenAKeyIsPausedGoesBackToo() {
        lease();
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("k", 4))
                .as("after which a batch is asked for")
                .isTrue();
        limiter.pause("k", ofHours(1)).block(PATIENCE);
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("k", 1)).isFalse();
        plain.pause("k", ZERO).block(PATIENCE);
        Await.until("all are back", () -> debited() == 6);
    }

    @Test
    void changedPolicyCountsOnlyWhatWasSpent() {
        AtomicReference<RateLimitPolicy> plan = new AtomicReference<>(POLICY);
        RateLimiter changing = RateLimiter.builder(POLICY)
                .name(name)
                .scheduler(clock)
                .store(store().leasing(LEASE))
                .policyPerKey(key -> Mono.fromSupplier(plan::get), ofMillis(1))
                .build();
        changing.tryAcquire("k").block(PATIENCE);
        changing.tryAcquire("k").block(PATIENCE);
        Await.until("a batch is here", () -> changing.peek("k").block(PATIENCE).remaining() == 998 && debited() == 10);
        plan.set(FixedWindow.of(2_000, ofDays(200)).fromFirstRequest());
        clock.advance(ofMillis(1));
        assertThat(changing.tryAcquire("k").block(PATIENCE).remaining()).isEqualTo(1_997);
    }

    static Stream<RateLimitPolicy> policiesToWaitFor() {
        return Stream.of(POLICY, TokenBucket.of(1_000, ofDays(200)));
    }

    @ParameterizedTest
    @MethodSource("policiesToWaitFor")
    void whoWaitsHasWhatIsHereAndWhatIsInRedis(RateLimitPolicy policy) {
        RateLimiter waiting = limiter(policy, store().leasing(ofSeconds(60)));
        waiting.tryAcquire("w").block(PATIENCE);
        waiting.tryAcquire("w").block(PATIENCE);
        RateLimiter reader = limiter(policy, store());
        Await.until("a batch", () -> reader.peek("w").block(PATIENCE).remaining() == 990);
        Await.until("it is here", () -> waiting.peek("w").block(PATIENCE).remaining() == 998);
        assertThat(waiting.acquire("w", 998).block(ofSeconds(10)).allowed()).isTrue();
    }

    @Test
    void aProcessHoldsAQuarterOfTheCapacityAtMost() {
        RateLimiter few = limiter(FixedWindow.of(20, ofDays(200)).fromFirstRequest(), store().leasing(LEASE));
        few.tryAcquire("few").block(PATIENCE);
        few.tryAcquire("few").block(PATIENCE);
        RateLimiter reader = limiter(FixedWindow.of(20, ofDays(200)).fromFirstRequest(), store());
        Await.until("a batch of 5", () -> reader.peek("few").block(PATIENCE).remaining() == 13);
        RateLimiter none = limiter(TokenBucket.perHour(3), store().leasing(LEASE));
        none.tryAcquire("none").block(PATIENCE);
        none.tryAcquire("none").block(PATIENCE);
        assertThat(DirectLimiter.of(none).tryAcquireNow("none", 1)).isFalse();
    }

    @Test
    void leaseTimeIsCheckedAndToldWithTheBound() {
        assertThat(store().leasing())
                .hasToString("RedisStore 'ratelimit', deadline PT30S, when unavailable closed(), leasing permits:"
                        + " the bound of a policy in any W is the one it has in W + PT1S");
        for (Duration wrong : new Duration[] {Duration.ZERO, ofMillis(-1), ofSeconds(61)}) {
            assertThatThrownBy(() -> store().leasing(wrong))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("leaseTime must be at least a millisecond and at most one minute");
        }
    }
}
