package io.github.reactorratelimit.redis.harness;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.redis.FailureMode;
import io.github.reactorratelimit.redis.RedisStore;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.CommandCount;
import io.github.reactorratelimit.testing.redis.FaultProxy;
import io.github.reactorratelimit.testing.redis.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import reactor.core.publisher.Flux;

/**
 * Asks that run, whose answers are lost with the connection, which is there again at once: the worst moment for a client
 * that sends again what was not answered. Every ask is known to have run once, so that every debit can be accounted for.
 */
final class ResetReplies {

    private static final Duration PATIENCE = Duration.ofSeconds(10);
    private static final Duration REFUSED_FOR = Duration.ofMillis(5);
    /** A client fails the first command of those under way, and would send the others again. */
    private static final List<String> KEYS = List.of("a", "b", "c", "d");

    private static final FixedWindow LEDGER = FixedWindow.of(1_000_000, Duration.ofDays(200));

    /**
     * What came of it.
     *
     * @param asks that were made
     * @param spent debits that Redis knows of
     */
    record Outcome(long asks, long spent) {

        long doubles() {
            return spent - asks;
        }
    }

    private ResetReplies() {}

    static Outcome run(RedisServer server, FaultProxy proxy, RedisStore store, int times) throws Exception {
        RateLimiter limiter = RateLimiter.builder(LEDGER)
                .name("reset-replies")
                .store(store.withDeadline(PATIENCE).whenUnavailable(FailureMode.closed()))
                .build();
        long asks = 0;
        for (int i = 0; i < times; i++) {
            asks += askUntilNormal(limiter);
            CommandCount count = CommandCount.on(server);
            long connections = proxy.connections();
            proxy.dropReplies();
            CompletableFuture<List<Decision>> answers = Flux.fromIterable(KEYS)
                    .flatMap(limiter::tryAcquire, KEYS.size())
                    .collectList()
                    .toFuture();
            asks += KEYS.size();
            Await.until("all scripts ran", () -> count.scripts() >= KEYS.size());
            proxy.reset(REFUSED_FOR);
            Await.until("reconnected", () -> proxy.connections() > connections);
            answers.get(PATIENCE.toSeconds() * 2, TimeUnit.SECONDS);
        }
        asks += askUntilNormal(limiter);
        return new Outcome(
                asks, KEYS.stream().mapToLong(key -> spent(limiter, key)).sum());
    }

    private static long spent(RateLimiter limiter, String key) {
        return LEDGER.limit() - limiter.peek(key).block(PATIENCE).remaining();
    }

    /** One ask that is answered by Redis; those before it were refused, because there was no connection yet. */
    private static long askUntilNormal(RateLimiter limiter) {
        Await.until(
                "answer from Redis",
                () -> !limiter.tryAcquire(KEYS.get(0)).block(PATIENCE).degraded());
        return 1;
    }
}
