package io.github.reactorratelimit.redis;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofDays;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.AccuracyRecorder;
import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.FaultProxy;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Permits that were leased and not spent are counted, by what became of them. The limiter's clock is moved by hand. */
@ExtendWith(RedisExtension.class)
class StrandedLeaseTest {

    private static final Duration PATIENCE = ofSeconds(30);

    /** By the clock that the test moves: no call takes so long before that. */
    private static final Duration DEADLINE = ofSeconds(2);

    /** Long enough that nothing goes back by itself while the test runs. */
    private static final Duration LEASE = ofMinutes(1);

    private static final RateLimitPolicy POLICY =
            FixedWindow.of(1_000, ofDays(200)).fromFirstRequest();

    private final HandClock clock = new HandClock();
    private final AccuracyRecorder accuracy = new AccuracyRecorder();
    private final FaultProxy proxy;
    private final RedisClient client;
    private final StatefulRedisConnection<String, String> connection;

    StrandedLeaseTest(Standalone redis) {
        proxy = FaultProxy.before(redis.uri());
        client = RedisClient.create(proxy.uri());
        connection = client.connect();
    }

    @AfterEach
    void disconnect() {
        connection.close();
        client.shutdown(ZERO, ofSeconds(1));
        proxy.close();
    }

    private RateLimiter limiter() {
        return RateLimiter.builder(POLICY)
                .name("stranded-" + UUID.randomUUID())
                .scheduler(clock)
                .recorder(accuracy)
                .store(RedisStore.of(connection).withDeadline(DEADLINE).leasing(LEASE))
                .build();
    }

    /** Three permits are spent, seven are here. */
    private void lease(RateLimiter limiter) {
        limiter.tryAcquire("k").block(PATIENCE);
        limiter.tryAcquire("k").block(PATIENCE);
        Await.until("the batch is here", () -> DirectLimiter.of(limiter).tryAcquireNow("k", 1));
    }

    private AccuracyRecorder.Snapshot seen() {
        return accuracy.snapshot();
    }

    @Test
    void permitsWhoseTimeIsOverAreCountedWhenTheyGoBack() {
        RateLimiter limiter = limiter();
        lease(limiter);
        clock.advance(LEASE);
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("k", 1)).isFalse();
        Await.until("they are back", () -> seen().expiredPermits() == 7);
        assertThat(seen().lostPermits()).isZero();
        assertThat(seen().unansweredPermits()).isZero();
    }

    @Test
    void permitsThatGoBackInTimeAreNotStranded() {
        RateLimiter limiter = limiter();
        lease(limiter);
        limiter.close().block(PATIENCE);
        assertThat(seen().expiredPermits()).isZero();
        assertThat(seen().lostPermits()).isZero();
    }

    @Test
    void permitsThatCannotGoBackAreLost() {
        RateLimiter limiter = limiter();
        lease(limiter);
        connection.close();
        limiter.close().block(PATIENCE);
        assertThat(seen().lostPermits()).isEqualTo(7);
        assertThat(seen().expiredPermits()).isZero();
    }

    @Test
    void permitsLeasedUnderAPolicyThatNoLongerRulesAreLost() {
        RateLimiter limiter = limiter();
        lease(limiter);
        limiter.changePolicy(FixedWindow.of(2_000, ofDays(200)).fromFirstRequest())
                .block(PATIENCE);
        Await.until("they are dropped", () -> seen().lostPermits() == 7);
    }

    @Test
    void batchThatIsNotAnsweredIsCountedAsPerhapsTaken() {
        RateLimiter limiter = limiter();
        lease(limiter);
        proxy.blackHole();
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("k", 4))
                .as("the next batch is asked for")
                .isTrue();
        clock.advance(DEADLINE);
        Await.until("nobody waits for it any more", () -> seen().unansweredPermits() > 0);
        assertThat(seen().unansweredPermits()).isEqualTo(16);
    }

    @Test
    void batchThatIsNeverSentIsNotCounted() {
        RateLimiter limiter = limiter();
        lease(limiter);
        connection.close();
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("k", 4))
                .as("the next batch is asked for")
                .isTrue();
        assertThat(limiter.tryAcquire("other").block(PATIENCE).degraded()).isTrue();
        assertThat(seen().unansweredPermits()).isZero();
    }
}
