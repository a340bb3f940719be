package io.github.reactorratelimit.examples;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.redis.FailureMode;
import io.github.reactorratelimit.redis.RedisStore;
import io.github.reactorratelimit.testing.redis.Standalone;
import java.time.Duration;

/** Two instances of an application share one limit through Redis. Then Redis dies, and each goes on with its share of the limit. */
public final class RedisLimit {

    private static final TokenBucket POLICY = TokenBucket.perHour(6);
    /** The first call of a process takes long; later ones are answered well within the 50 ms that are given to them otherwise. */
    private static final Duration DEADLINE = Duration.ofSeconds(10);

    private final String name;
    private final RedisStore store;
    private final RateLimiter limiter;

    /** An instance; in earnest it would be a process of its own. */
    private RedisLimit(String name, String redisUri) {
        this.name = name;
        this.store = RedisStore.connect(redisUri).blockOptional().orElseThrow();
        this.limiter = RateLimiter.builder(POLICY)
                .name("orders")
                .store(store.withDeadline(DEADLINE).whenUnavailable(FailureMode.local(POLICY.share(2))))
                .build();
    }

    private void call(String customer) {
        Decision decision = limiter.tryAcquire(customer).blockOptional().orElseThrow();
        System.out.printf(
                "  %s: a call of %s is %s, %d left%s%n",
                name,
                customer,
                decision.allowed() ? "allowed" : "denied",
                decision.remaining(),
                decision.degraded() ? ", decided without Redis" : "");
    }

    private void close() {
        limiter.close().then(store.close()).block();
    }

    /**
     * Runs the example, on a Redis server of its own or on that of the environment variable {@code REDIS_URI}.
     *
     * @param args ignored
     */
    public static void main(String[] args) {
        try (Standalone redis = Standalone.open()) {
            RedisLimit first = new RedisLimit("A", redis.address());
            RedisLimit second = new RedisLimit("B", redis.address());
            first.limiter.reset("alice").block();

            System.out.println("6 calls an hour for each customer, at both instances together");
            callInTurns(first, second, "alice");
            if (redis.isOurs()) {
                redis.server().kill();
                System.out.println("Redis has died: 3 at each of them");
                callInTurns(first, second, "bob");
            }
            first.close();
            second.close();
        }
    }

    private static void callInTurns(RedisLimit first, RedisLimit second, String customer) {
        for (int i = 0; i < 4; i++) {
            first.call(customer);
            second.call(customer);
        }
    }
}
