package io.github.reactorratelimit.redis;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.AccuracyRecorder;
import io.github.reactorratelimit.ManualScheduler;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** How far the server's clock is ahead of this machine's, as the recorder is told. */
@ExtendWith(RedisExtension.class)
class ClockComparisonTest {

    private static final RateLimitPolicy POLICY = TokenBucket.perSecond(10);
    private static final long MILLI = 1_000_000;
    private static final long SENT = 1_000_000 * MILLI;

    private final ManualScheduler time = new ManualScheduler(SENT);
    private final AccuracyRecorder accuracy = new AccuracyRecorder();

    private void compare(long serverMicros) {
        new ServerClock(time, accuracy).compare(serverMicros, SENT);
    }

    private Duration ahead() {
        return accuracy.snapshot().clock().orElseThrow().ahead();
    }

    private Duration error() {
        return accuracy.snapshot().clock().orElseThrow().error();
    }

    @Test
    void halfOfTheTimeThatTheReplyTookIsTheError() {
        ServerClock clock = new ServerClock(time, accuracy);
        time.advance(10 * MILLI);
        // Sent at 1 000.000 s, answered at 1 000.010 s: the server said 1 003.005 in between.
        clock.compare(1_003_005_000, SENT);
        assertThat(error()).isBetween(Duration.ofNanos(5 * MILLI), Duration.ofNanos(5 * MILLI + MILLI / 2 + 1));
        assertThat(ahead().minusSeconds(3).abs()).isLessThanOrEqualTo(Duration.ofNanos(MILLI / 2));
    }

    @Test
    void clockThatIsBehindIsNegative() {
        compare(998_000_000);
        assertThat(ahead().plusSeconds(2).abs()).isLessThanOrEqualTo(error());
    }

    /** A server on the same machine has the same clock. */
    @Test
    void clockOfAServerOnThisMachineIsAheadByNoMoreThanTheError(Standalone redis) {
        try (StatefulRedisConnection<String, String> connection = redis.connect()) {
            RateLimiter limiter = RateLimiter.builder(POLICY)
                    .name("clock-" + UUID.randomUUID())
                    .recorder(accuracy)
                    .store(RedisStore.of(connection).withDeadline(ofSeconds(30)))
                    .build();
            Await.until("it was read", () -> accuracy.snapshot().clock().isPresent());
            assertThat(ahead().abs()).isLessThanOrEqualTo(error());
            limiter.close().block(ofSeconds(30));
        }
    }
}
