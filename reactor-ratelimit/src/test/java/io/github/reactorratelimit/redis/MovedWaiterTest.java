package io.github.reactorratelimit.redis;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.RedisServer;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;

/** A waiter that had a reserved slot, and then met a policy without slots. */
class MovedWaiterTest {

    private static final Duration PATIENCE = ofSeconds(30);
    private static final String KEY = "k";

    @Test
    void cancelledWaiterDelaysNobodyThoughItsPolicyHasNoSlotsAnyMore() {
        try (RedisServer server = RedisServer.start()) {
            RedisStore store = RedisStore.connect(server.uri())
                    .block(PATIENCE)
                    .withoutSelfTest()
                    .withDeadline(PATIENCE);
            RateLimiter limiter = RateLimiter.builder(TokenBucket.of(5, ofHours(1)))
                    .name("moved")
                    .store(store)
                    .build();
            assertThat(limiter.tryAcquire(KEY, 5).block(PATIENCE).allowed()).isTrue();
            Disposable waiter = limiter.acquire(KEY, 5).subscribe(allowed -> {}, closed -> {});
            Await.until(
                    "it has a slot",
                    () -> limiter.peek(KEY)
                                    .block(PATIENCE)
                                    .retryAfter()
                                    .orElseThrow()
                                    .compareTo(ofHours(1))
                            > 0);

            // 5 of 6 are spent: too few remain for the waiter.
            limiter.changePolicy(FixedWindow.of(6, ofHours(1)).fromFirstRequest())
                    .block(PATIENCE);
            Await.until(
                    "nobody overtakes the waiter",
                    ofSeconds(10),
                    () -> limiter.tryAcquire(KEY, 2).block(PATIENCE).remaining() == 0);
            waiter.dispose();
            Await.until(
                    "what remains is there for others",
                    ofSeconds(10),
                    () -> limiter.tryAcquire(KEY).block(PATIENCE).allowed());
            limiter.close().block(PATIENCE);
            store.close().block(PATIENCE);
        }
    }
}
