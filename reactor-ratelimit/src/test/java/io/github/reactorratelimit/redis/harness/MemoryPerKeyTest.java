package io.github.reactorratelimit.redis.harness;

import static java.time.Duration.ofMinutes;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.redis.RedisStore;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * What a key costs in Redis, by {@code MEMORY USAGE}. The same beside other libraries: {@code RedisCosts} in the module
 * benchmarks.
 */
@ExtendWith(RedisExtension.class)
class MemoryPerKeyTest {

    private static final int LIMIT = 100;
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    /** Of a string with its name, value, expiry and table entries; what the names of these keys are long. */
    private static final long SMALL_BYTES = 200;

    /** The times of single permits, each in a list entry. */
    private static final long LOG_ENTRY_BYTES = 40;

    private static Map<String, RateLimitPolicy> policies() {
        Map<String, RateLimitPolicy> policies = new LinkedHashMap<>();
        policies.put("token bucket", TokenBucket.perMinute(LIMIT));
        policies.put("token bucket, stepwise", TokenBucket.perMinute(LIMIT).stepwise());
        policies.put("GCRA", Gcra.perMinute(LIMIT));
        policies.put("leaky bucket", LeakyBucket.of(LIMIT, Duration.ofMinutes(1)));
        policies.put("fixed window", FixedWindow.of(LIMIT, ofMinutes(1)));
        policies.put(
                "window from first request", FixedWindow.of(LIMIT, ofMinutes(1)).fromFirstRequest());
        policies.put("sliding counter", SlidingWindowCounter.of(LIMIT, ofMinutes(1)));
        policies.put("sliding log", SlidingWindowLog.of(LIMIT, ofMinutes(1)));
        policies.put(
                "all(bucket, window)", Policies.all(TokenBucket.perMinute(LIMIT), FixedWindow.of(LIMIT, ofMinutes(1))));
        return policies;
    }

    @Test
    void keyCostsLittleAndDoesNotGrowWithItsPermits(Standalone redis) {
        System.out.printf(
                "%n%-26s %5s %14s %16s%n", "memory per key", "keys", "after 1 permit", "after " + LIMIT + " permits");
        try (StatefulRedisConnection<String, String> connection = redis.connect()) {
            policies().forEach((name, policy) -> {
                RateLimiter limiter = RateLimiter.builder(policy)
                        .name(UUID.randomUUID().toString().substring(0, 8))
                        .store(RedisStore.of(connection).withDeadline(PATIENCE))
                        .build();
                limiter.tryAcquire("customer-4711").block(PATIENCE);
                long first = bytes(connection.sync(), limiter.name());
                for (int i = 1; i < LIMIT; i++) {
                    limiter.tryAcquire("customer-4711").block(PATIENCE);
                }
                long full = bytes(connection.sync(), limiter.name());
                int keys = keys(connection.sync(), limiter.name()).size();
                System.out.printf("%-26s %5d %14d %16d%n", name, keys, first, full);
                long most =
                        policy instanceof SlidingWindowLog ? SMALL_BYTES + LIMIT * LOG_ENTRY_BYTES : SMALL_BYTES * keys;
                assertThat(first).as(name).isBetween(1L, SMALL_BYTES * keys);
                assertThat(full).as(name).isLessThanOrEqualTo(most);
            });
        }
    }

    private static List<String> keys(RedisCommands<String, String> redis, String limiter) {
        return redis.keys("*{" + limiter + ":*");
    }

    private static long bytes(RedisCommands<String, String> redis, String limiter) {
        return keys(redis, limiter).stream().mapToLong(redis::memoryUsage).sum();
    }
}
