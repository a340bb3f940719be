package io.github.reactorratelimit.examples;

import io.github.reactorratelimit.JointDecision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.redis.RedisStore;
import io.github.reactorratelimit.testing.redis.Cluster;
import io.github.reactorratelimit.testing.redis.RedisServer;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.List;
import reactor.core.publisher.Flux;

/**
 * Limits on a Redis Cluster of three masters. Each key lies in a slot of its own, so that the load is spread. Limits that are asked together
 * share a slot by a hash tag, so that they are asked in one step: both are charged, or none is.
 */
public final class RedisClusterLimits {

    /** Nothing is warm yet, and 300 calls are made at once; otherwise a call has 50 ms. */
    private static final Duration DEADLINE = Duration.ofSeconds(10);

    private RedisClusterLimits() {}

    /**
     * Runs the example on a cluster of its own.
     *
     * @param args ignored
     */
    public static void main(String[] args) {
        try (Cluster cluster = Cluster.withoutReplicas()) {
            String[] nodes =
                    cluster.servers().stream().map(RedisServer::address).toArray(String[]::new);
            RedisStore store = RedisStore.connectCluster(nodes)
                    .blockOptional()
                    .orElseThrow()
                    .withDeadline(DEADLINE);

            RateLimiter calls = limiter("calls", TokenBucket.perMinute(10), store);
            Flux.range(1, 300).flatMap(i -> calls.tryAcquire("customer-" + i)).blockLast();
            System.out.println("keys of 300 customers on each node: " + keysByNode(nodes, "*{calls:customer-*"));

            RedisStore alices = store.withHashTag("alice");
            RateLimiter exports = limiter("exports", TokenBucket.perHour(2), alices);
            RateLimiter requests = limiter("requests", TokenBucket.perHour(10), alices);
            for (int i = 1; i <= 3; i++) {
                ask(exports, requests);
            }
            System.out.println("keys of alice on each node: " + keysByNode(nodes, "*{alice}*"));

            Flux.just(calls, exports, requests)
                    .concatMap(RateLimiter::close)
                    .then(store.close())
                    .block();
        }
    }

    private static RateLimiter limiter(String name, RateLimitPolicy policy, RedisStore store) {
        return RateLimiter.builder(policy).name(name).store(store).build();
    }

    /** An export is a request too: it needs a permit of both. */
    private static void ask(RateLimiter exports, RateLimiter requests) {
        JointDecision decision = RateLimiter.acquireAll(
                        List.of(RateLimiter.permits(exports, "alice"), RateLimiter.permits(requests, "alice")))
                .blockOptional()
                .orElseThrow();
        long requestsLeft = requests.peek("alice").blockOptional().orElseThrow().remaining();
        System.out.printf(
                "an export of alice is %s, %d requests left%n",
                decision.allowed() ? "allowed" : "denied", requestsLeft);
    }

    private static List<Integer> keysByNode(String[] nodes, String pattern) {
        RedisClient client = RedisClient.create();
        try {
            return Flux.just(nodes)
                    .map(node -> keys(client, node, pattern))
                    .toStream()
                    .toList();
        } finally {
            client.shutdown();
        }
    }

    private static int keys(RedisClient client, String node, String pattern) {
        try (StatefulRedisConnection<String, String> connection = client.connect(RedisURI.create(node))) {
            return connection.sync().keys(pattern).size();
        }
    }
}
