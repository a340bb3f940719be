package io.github.reactorratelimit.redis;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.Reservation;
import io.github.reactorratelimit.Settlement;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.Ledger;
import io.github.reactorratelimit.testing.redis.FaultProxy;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.test.StepVerifier;
import reactor.test.publisher.TestPublisher;

/** Settling while Redis does not answer fails nobody, and is counted. */
@Tag("slow")
@ExtendWith(RedisExtension.class)
class SettlingFailureTest {

    private static final Duration PATIENCE = ofSeconds(30);

    private final Ledger ledger = new Ledger();
    private final FaultProxy proxy;
    private final RedisClient client;
    private final StatefulRedisConnection<String, String> connection;
    private final RateLimiter limiter;

    SettlingFailureTest(Standalone redis) {
        proxy = FaultProxy.before(redis.uri());
        client = RedisClient.create(proxy.uri());
        client.setOptions(ClientOptions.builder()
                .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                .build());
        connection = client.connect();
        limiter = RateLimiter.builder(TokenBucket.of(100, Duration.ofDays(1)))
                .name("settling-failure")
                .recorder(ledger)
                .store(RedisStore.of(connection).withDeadline(ofSeconds(2)).whenUnavailable(FailureMode.open()))
                .build();
    }

    /** The first calls bring the scripts and read the policies, which may take longer than the deadline. */
    @BeforeEach
    void warmUp() {
        for (int script = 0; script < 2; script++) {
            Await.until(
                    "Redis answers in time",
                    () -> !limiter.tryAcquire("warm-up").block(PATIENCE).degraded());
        }
    }

    @AfterEach
    void disconnect() {
        connection.close();
        client.shutdown(Duration.ZERO, ofSeconds(1));
        proxy.close();
    }

    private Reservation reserve(long permits) {
        Reservation reserved = limiter.reserve("k", permits).block(PATIENCE);
        assertThat(reserved.decision().degraded()).isFalse();
        return reserved;
    }

    @Test
    void whatCannotBeSettledIsCountedAndNoError() {
        Reservation less = reserve(10);
        Reservation more = reserve(10);
        proxy.blackHole();

        assertThat(less.settle(4).block(PATIENCE)).isEqualTo(new Settlement(10, 4, 0, false));
        assertThat(ledger.lost()).isEqualTo(6);
        assertThat(more.settle(15).block(PATIENCE)).isEqualTo(new Settlement(10, 15, 5, false));
        assertThat(ledger.lost()).isEqualTo(11);
        assertThat(ledger.uncharged()).isZero();
        assertThat(ledger.open()).isZero();
    }

    @Test
    void streamEndsInTimeThoughNothingCanBeSettled() {
        TestPublisher<Integer> source = TestPublisher.create();
        StepVerifier.create(source.flux()
                        .transform(
                                limitRate(limiter, spec -> spec.key("k").cost(2).chargeElements(Integer::longValue))))
                .expectSubscription()
                .then(() -> Await.until("it is reserved", () -> source.subscribeCount() == 1))
                .then(proxy::blackHole)
                .then(() -> source.next(1, 2, 3).complete())
                .expectNext(1, 2, 3)
                .expectComplete()
                .verify(PATIENCE);
        assertThat(ledger.settled()).isEqualTo(6);
        limiter.close().block(PATIENCE);
        assertThat(ledger.lost()).isEqualTo(4);
    }

    /** Nothing was taken from Redis, so nothing goes back; what was spent beyond is charged if Redis is back. */
    @Test
    void reservationWithoutRedisHasNothingToGiveBack() {
        proxy.blackHole();
        Reservation less = limiter.reserve("d", 10).block(PATIENCE);
        assertThat(less.decision().degraded()).isTrue();
        assertThat(less.settle(3).block(PATIENCE).uncharged()).isZero();
        assertThat(ledger.lost()).isZero();

        Reservation more = limiter.reserve("d", 10).block(PATIENCE);
        assertThat(more.decision().degraded()).isTrue();
        proxy.pass();
        warmUp();
        more.settle(13).block(PATIENCE);
        Await.until("3 are charged", () -> limiter.peek("d").block(PATIENCE).remaining() == 97);
        assertThat(ledger.lost()).isZero();
    }
}
