package io.github.reactorratelimit.fairness;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.redis.FailureMode;
import io.github.reactorratelimit.redis.RedisStore;
import io.github.reactorratelimit.testing.redis.FaultProxy;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Mono;

/** Calls in flight, counted by a Redis that is away and shall then deny: who is denied meanwhile is told why. */
@ExtendWith(RedisExtension.class)
class AwayRedisTest {

    private static final Duration PATIENCE = ofSeconds(60);
    private static final String KEY = "k";

    private final FaultProxy proxy;
    private final RedisClient client;
    private final StatefulRedisConnection<String, String> connection;
    private final RateLimiter limiter;
    private final FairShare share;

    AwayRedisTest(Standalone redis) {
        proxy = FaultProxy.before(redis.uri());
        client = RedisClient.create(proxy.uri());
        client.setOptions(ClientOptions.builder()
                .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                .build());
        connection = client.connect();
        limiter = limiter(ofMillis(100));
        share = FairShare.over(limiter, KEY).build();
    }

    private RateLimiter limiter(Duration deadline) {
        return RateLimiter.builder(ConcurrencyLimit.of(1))
                .name("away-" + UUID.randomUUID())
                .store(RedisStore.of(connection)
                        .withDeadline(deadline)
                        .withoutSelfTest()
                        .whenUnavailable(FailureMode.closed()))
                .build();
    }

    @AfterEach
    void close() {
        share.close().block(PATIENCE);
        limiter.close().block(PATIENCE);
        connection.close();
        client.shutdown(Duration.ZERO, ofSeconds(1));
        proxy.close();
    }

    private static Decision denied(Mono<Lease> lease) {
        return lease.map(Lease::decision)
                .onErrorResume(RateLimitExceededException.class, denial -> Mono.just(denial.decision()))
                .block(PATIENCE);
    }

    private Mono<Lease> fairly(String tenant, Duration maxWait) {
        return share.limiter(FairShareBuilder.DEFAULT_CLASS).acquireLease(tenant, 1, maxWait);
    }

    @Test
    void whoWaitsInVainIsDeniedWithTheMark() {
        proxy.blackHole();

        assertThat(denied(fairly("a", ofSeconds(2)))).matches(Decision::degraded);
    }

    @Test
    void whoDoesNotWaitIsDeniedWithTheMarkBehindThoseWhoDo() {
        proxy.blackHole();
        fairly("a", PATIENCE).subscribe(lease -> {}, closed -> {});

        assertThat(denied(fairly("b", Duration.ZERO))).matches(Decision::degraded);
    }

    @Test
    void limiterItselfSaysSoBehindThoseWhoWaitForIt() {
        proxy.blackHole();
        limiter.acquireLease(KEY, 1, PATIENCE).subscribe(lease -> {}, closed -> {});

        assertThat(limiter.peek(KEY).block(PATIENCE)).matches(Decision::degraded);
        assertThat(denied(limiter.acquireLease(KEY, 1, Duration.ZERO))).matches(Decision::degraded);
    }

    @Test
    void whoIsDeniedBehindOthersByARedisThatIsThereHasNoMark() {
        RateLimiter patient = limiter(PATIENCE);
        patient.acquireLease(KEY, 1, PATIENCE).block(PATIENCE);
        patient.acquireLease(KEY, 1, PATIENCE).subscribe(lease -> {}, closed -> {});

        Decision seen = patient.peek(KEY).block(PATIENCE);
        patient.close().block(PATIENCE);
        assertThat(seen.allowed()).isFalse();
        assertThat(seen.degraded()).isFalse();
    }
}
