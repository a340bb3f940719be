package io.github.reactorratelimit.benchmarks.redis;

import io.github.bucket4j.Bucket;
import io.github.bucket4j.BucketConfiguration;
import io.github.bucket4j.distributed.ExpirationAfterWriteStrategy;
import io.github.bucket4j.redis.lettuce.Bucket4jLettuce;
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
import io.github.reactorratelimit.testing.redis.RedisServer;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.regex.Pattern;
import org.redisson.Redisson;
import org.redisson.api.RRateLimiter;
import org.redisson.api.RateType;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import reactor.core.publisher.Flux;

/**
 * What a limit costs Redis: memory per key by {@code MEMORY USAGE}, for a limit of 100 per minute, beside
 * Bucket4j, Redisson and Spring Cloud Gateway; commands and server time of an allowed decision; memory by
 * {@code used_memory} of a million keys. Run it with {@code mvn -q -pl
 * benchmarks -am spring-boot:run
 * -Dspring-boot.run.main-class=io.github.reactorratelimit.benchmarks.redis.RedisCosts}.
 */
public final class RedisCosts {

    private static final int LIMIT = 100;
    private static final Duration PERIOD = Duration.ofMinutes(1);
    private static final Duration DEADLINE = Duration.ofSeconds(10);
    private static final int MANY = 1_000_000;
    private static final int IN_FLIGHT = 512;

    private static final int KEYS = 10_000;
    private static final int DECISIONS = 5 * KEYS;

    /** No key expires before the last one is written. */
    private static final Duration LONG = Duration.ofHours(1);

    private static final String KEY = "customer-4711";

    private final RedisCommands<String, String> redis;

    private RedisCosts(RedisCommands<String, String> redis) {
        this.redis = redis;
    }

    /** Prints the table. */
    public static void main(String[] arguments) throws IOException {
        try (RedisServer server = RedisServer.start()) {
            RedisClient client = RedisClient.create(server.address());
            try (StatefulRedisConnection<String, String> connection = client.connect()) {
                new RedisCosts(connection.sync()).run(connection, client, RedisURI.create(server.address()));
            } finally {
                client.shutdown(Duration.ZERO, DEADLINE);
            }
        }
    }

    private void run(StatefulRedisConnection<String, String> connection, RedisClient client, RedisURI uri)
            throws IOException {
        System.out.printf("%n%d per %s, key \"%s\"%n", LIMIT, PERIOD, KEY);
        System.out.printf("%-44s %6s %15s %18s%n", "bytes in Redis", "keys", "after 1 permit", "after 100 permits");
        List<RateLimitPolicy> policies = List.of(
                TokenBucket.of(LIMIT, PERIOD),
                Gcra.of(LIMIT, PERIOD),
                LeakyBucket.of(LIMIT, PERIOD),
                FixedWindow.of(LIMIT, PERIOD),
                SlidingWindowCounter.of(LIMIT, PERIOD),
                SlidingWindowLog.of(LIMIT, PERIOD));
        for (RateLimitPolicy policy : policies) {
            RateLimiter limiter = limiter(connection, policy);
            measure(
                    "reactor-ratelimit " + policy.getClass().getSimpleName(),
                    () -> limiter.tryAcquire(KEY).block(DEADLINE));
        }
        bucket4j(client);
        redisson(uri);
        gateway();
        System.out.printf(
                "%nan allowed decision, %d keys%n%-44s %22s %22s %9s%n",
                KEYS, "", "us, 1 call at a time", "us, 64 at a time", "commands");
        for (RateLimitPolicy policy : List.of(
                TokenBucket.of(LIMIT, LONG),
                TokenBucket.of(LIMIT, LONG).stepwise(),
                LeakyBucket.of(1_000, Duration.ofSeconds(1)),
                FixedWindow.of(LIMIT, LONG),
                SlidingWindowCounter.of(LIMIT, LONG),
                SlidingWindowLog.of(LIMIT, LONG),
                Policies.all(TokenBucket.of(LIMIT, LONG), FixedWindow.of(LIMIT, LONG)))) {
            time(connection, policy);
        }
        System.out.printf("%nbytes of used_memory per key, of %d keys after 1 permit each%n", MANY);
        for (RateLimitPolicy policy : List.of(
                TokenBucket.of(LIMIT, LONG),
                FixedWindow.of(LIMIT, LONG),
                SlidingWindowCounter.of(LIMIT, LONG),
                SlidingWindowLog.of(LIMIT, LONG))) {
            measureMany(connection, policy);
        }
    }

    /** Includes the tables of keys and times to live, which {@code MEMORY USAGE} leaves out. */
    private void measureMany(StatefulRedisConnection<String, String> connection, RateLimitPolicy policy) {
        long before = usedMemory();
        RateLimiter limiter = limiter(connection, policy);
        Flux.range(MANY, MANY)
                .flatMap(customer -> limiter.tryAcquire("customer-" + customer), IN_FLIGHT)
                .blockLast();
        System.out.printf(
                "%-44s %6d%n",
                "reactor-ratelimit " + policy.getClass().getSimpleName(), (usedMemory() - before) / redis.dbsize());
        redis.flushall();
    }

    /** The server's time of script calls, by {@code INFO commandstats}, after a round that is not counted. */
    private void time(StatefulRedisConnection<String, String> connection, RateLimitPolicy policy) {
        RateLimiter limiter = limiter(connection, policy);
        decide(limiter, KEYS, 64);
        double alone = decide(limiter, DECISIONS, 1);
        long commands = callsInScripts();
        double together = decide(limiter, DECISIONS, 64);
        System.out.printf(
                "%-44s %22.1f %22.1f %9.1f%n",
                "reactor-ratelimit "
                        + (policy.parts().size() > 1
                                ? policy.parts().size() + " in one"
                                : policy.getClass().getSimpleName()),
                alone,
                together,
                (callsInScripts() - commands) / (double) DECISIONS);
        redis.flushall();
    }

    /** Microseconds of the server for each decision. */
    private double decide(RateLimiter limiter, int decisions, int inFlight) {
        long before = stats("evalsha", "usec");
        Flux.range(0, decisions)
                .flatMap(i -> limiter.tryAcquire("customer-" + (KEYS + i % KEYS)), inFlight)
                .blockLast();
        return (stats("evalsha", "usec") - before) / (double) decisions;
    }

    private long callsInScripts() {
        return stats("[a-z]+", "calls") - stats("(?:evalsha|info|flushall|dbsize)", "calls");
    }

    private long stats(String command, String field) {
        return Pattern.compile("cmdstat_" + command + ":.*?" + field + "=(\\d+)")
                .matcher(redis.info("commandstats"))
                .results()
                .mapToLong(found -> Long.parseLong(found.group(1)))
                .sum();
    }

    private long usedMemory() {
        return redis.info("memory")
                .lines()
                .filter(line -> line.startsWith("used_memory:"))
                .mapToLong(line -> Long.parseLong(line.substring(line.indexOf(':') + 1)))
                .findFirst()
                .orElseThrow();
    }

    private static RateLimiter limiter(StatefulRedisConnection<String, String> connection, RateLimitPolicy policy) {
        return RateLimiter.builder(policy)
                .name("api")
                .store(RedisStore.of(connection).withDeadline(DEADLINE))
                .build();
    }

    private void bucket4j(RedisClient client) {
        Bucket bucket = Bucket4jLettuce.casBasedBuilder(client)
                .expirationAfterWrite(ExpirationAfterWriteStrategy.basedOnTimeForRefillingBucketUpToMax(PERIOD))
                .build()
                .builder()
                .build(
                        ("api:" + KEY).getBytes(StandardCharsets.UTF_8),
                        () -> BucketConfiguration.builder()
                                .addLimit(limit -> limit.capacity(LIMIT).refillGreedy(LIMIT, PERIOD))
                                .build());
        measure("Bucket4j, bucket4j-lettuce", () -> bucket.tryConsume(1));
    }

    private void redisson(RedisURI uri) {
        Config config = new Config();
        config.useSingleServer().setAddress("redis://" + uri.getHost() + ":" + uri.getPort());
        RedissonClient redisson = Redisson.create(config);
        try {
            RRateLimiter limiter = redisson.getRateLimiter("api:" + KEY);
            limiter.trySetRate(RateType.OVERALL, LIMIT, PERIOD);
            measure("Redisson RRateLimiter", limiter::tryAcquire);
        } finally {
            redisson.shutdown();
        }
    }

    /**
     * Its script from its jar; the keys as its RedisRateLimiter names them. It counts in whole seconds: 2 per
     * second, 100 at most.
     */
    private void gateway() throws IOException {
        String script = ScriptOnRedis.gatewayScript();
        String prefix = "request_rate_limiter.{api." + KEY + "}.";
        String[] keys = {prefix + "tokens", prefix + "timestamp"};
        measure(
                "Spring Cloud Gateway RedisRateLimiter",
                () -> redis.<List<Object>>eval(
                        script, ScriptOutputType.MULTI, keys, "2", Integer.toString(LIMIT), "", "1"));
    }

    private void measure(String name, Runnable permit) {
        permit.run();
        long first = bytes();
        for (int i = 1; i < LIMIT; i++) {
            permit.run();
        }
        System.out.printf("%-44s %6d %15d %18d%n", name, redis.dbsize(), first, bytes());
        redis.flushall();
    }

    private long bytes() {
        return redis.keys("*").stream().mapToLong(redis::memoryUsage).sum();
    }
}
