package io.github.reactorratelimit.redis;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.AccuracyRecorder;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.ManualScheduler;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/** How far the server's clock is ahead, and how far that may be from the truth. */
@ExtendWith(RedisExtension.class)
class ClockReaderTest {

    private static final RateLimitPolicy POLICY = TokenBucket.perSecond(10);
    private static final long MILLI = 1_000_000;

    private final ManualScheduler time = new ManualScheduler(1_000_000 * MILLI);
    private final AccuracyRecorder accuracy = new AccuracyRecorder();
    private final Sinks.One<List<String>> answer = Sinks.one();

    private static final class EmptyRegistry implements PolicyEpochs.Registry {

        @Override
        public Mono<NavigableMap<Long, String>> register(PolicyEpochs.Rule rule) {
            return Mono.just(new TreeMap<>());
        }

        @Override
        public Mono<NavigableMap<Long, String>> change(PolicyEpochs.Rule rule, RateLimitPolicy to) {
            return Mono.error(new UnsupportedOperationException());
        }
    }

    private PolicyEpochs.Registry registry(RateLimitRecorder recorder) {
        LimiterSettings settings = new LimiterSettings("clock", POLICY, time, time, recorder, 1);
        return ClockReader.beside(new EmptyRegistry(), settings, answer::asMono);
    }

    private void read() {
        registry(accuracy).register(PolicyEpochs.Rule.alone(0, POLICY)).block();
    }

    private Duration ahead() {
        return accuracy.snapshot().clock().orElseThrow().ahead();
    }

    private Duration error() {
        return accuracy.snapshot().clock().orElseThrow().error();
    }

    @Test
    void halfOfTheTimeThatTheAnswerTookIsTheError() {
        read();
        assertThat(accuracy.snapshot().clock()).isEmpty();
        time.advance(10 * MILLI);
        // Sent at 1 000.000 s, answered at 1 000.010 s: the server said 1 003.005 in between.
        answer.tryEmitValue(List.of("1003", "5000"));
        assertThat(error()).isBetween(Duration.ofNanos(5 * MILLI), Duration.ofNanos(5 * MILLI + MILLI / 2 + 1));
        assertThat(ahead().minusSeconds(3).abs()).isLessThanOrEqualTo(Duration.ofNanos(MILLI / 2));
    }

    @Test
    void clockThatIsBehindIsNegative() {
        read();
        answer.tryEmitValue(List.of("998", "0"));
        assertThat(ahead().plusSeconds(2).abs()).isLessThanOrEqualTo(error());
    }

    @Test
    void readingThatFailsIsLeftOut() {
        read();
        answer.tryEmitError(new RedisUnavailableException("away"));
        assertThat(accuracy.snapshot().clock()).isEmpty();
    }

    @Test
    void answerThatIsNoTimeIsLeftOut() {
        read();
        answer.tryEmitValue(List.of("noon", "0"));
        assertThat(accuracy.snapshot().clock()).isEmpty();
    }

    @Test
    void nothingIsReadWhereNobodyWantsToKnow() {
        assertThat(registry(RateLimitRecorder.NOOP)).isInstanceOf(EmptyRegistry.class);
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
