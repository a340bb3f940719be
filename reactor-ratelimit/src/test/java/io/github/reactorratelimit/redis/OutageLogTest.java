package io.github.reactorratelimit.redis;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.FaultProxy;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Mono;

/** An outage is two lines in the log: one when it begins, one when it is over. */
@Tag("slow")
@ExtendWith(RedisExtension.class)
class OutageLogTest {

    private static final Duration PATIENCE = ofSeconds(30);

    private final Standalone redis;

    OutageLogTest(Standalone redis) {
        this.redis = redis;
    }

    @Test
    void outageIsOneLineAndItsEndIsAnother() {
        RateLimitPolicy policy = TokenBucket.perHour(1_000);
        outage(policy, FailureMode.open(), "open()", RateLimiter::tryAcquire);
        outage(policy, FailureMode.closed(), "closed()", RateLimiter::tryAcquire);
        outage(policy, FailureMode.local(2), "local(2)", RateLimiter::tryAcquire);
    }

    @Test
    void soItIsOfLeases() {
        outage(ConcurrencyLimit.of(10), FailureMode.open(), "open()", RateLimiter::peek);
    }

    private interface Request {
        Mono<Decision> of(RateLimiter limiter, String key);
    }

    private void outage(RateLimitPolicy policy, FailureMode mode, String said, Request request) {
        String name = "outage-" + UUID.randomUUID();
        try (FaultProxy proxy = FaultProxy.before(redis.uri());
                LogLines log = LogLines.about(name)) {
            RedisStore store = RedisStore.connect(proxy.uri()).block(PATIENCE);
            RateLimiter limiter = RateLimiter.builder(policy)
                    .name(name)
                    .store(store.withDeadline(ofSeconds(2)).whenUnavailable(mode))
                    .build();
            for (int round = 1; round <= 2; round++) {
                Await.until(
                        "Redis answers",
                        () -> !request.of(limiter, "k").block(PATIENCE).degraded());
                proxy.refuse();
                for (int i = 0; i < 4 * CircuitBreaker.FAILURES_IN_A_ROW; i++) {
                    assertThat(request.of(limiter, "k").block(PATIENCE).degraded())
                            .isTrue();
                }
                List<String> begun = log.containing("is unavailable");
                assertThat(begun).as("after %d outages", round).hasSize(round);
                assertThat(begun.get(round - 1))
                        .startsWith("WARN ")
                        .contains(said)
                        .contains("Reason: Redis cannot be reached");
                assertThat(log.containing("is available again")).hasSize(round - 1);
                proxy.pass();
                Await.until(
                        "Redis answers",
                        () -> !request.of(limiter, "k").block(PATIENCE).degraded());
                List<String> over = log.containing("is available again");
                assertThat(over).as("after %d outages", round).hasSize(round);
                assertThat(over.get(round - 1)).startsWith("INFO ").contains(said);
            }
            assertThat(log.all()).hasSize(4);
            store.close().block(PATIENCE);
        }
    }
}
