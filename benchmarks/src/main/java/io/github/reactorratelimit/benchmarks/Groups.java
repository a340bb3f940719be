package io.github.reactorratelimit.benchmarks;

import io.github.reactorratelimit.benchmarks.local.FluxBenchmark;
import io.github.reactorratelimit.benchmarks.local.FluxContender;
import io.github.reactorratelimit.benchmarks.local.Limit;
import io.github.reactorratelimit.benchmarks.local.LocalContender;
import io.github.reactorratelimit.benchmarks.local.ManyKeysBenchmark;
import io.github.reactorratelimit.benchmarks.local.ManyKeysBenchmark.Distribution;
import io.github.reactorratelimit.benchmarks.local.MemoryBenchmark;
import io.github.reactorratelimit.benchmarks.local.MonoBenchmark;
import io.github.reactorratelimit.benchmarks.local.MonoContender;
import io.github.reactorratelimit.benchmarks.local.OneKeyBenchmark;
import io.github.reactorratelimit.benchmarks.redis.RedisBenchmark;
import io.github.reactorratelimit.benchmarks.redis.RedisContender;
import io.github.reactorratelimit.benchmarks.waiting.GrantBenchmark;
import io.github.reactorratelimit.benchmarks.waiting.Pacer;
import io.github.reactorratelimit.benchmarks.waiting.PacingBenchmark;
import io.github.reactorratelimit.benchmarks.waiting.QueueBenchmark;
import io.github.reactorratelimit.benchmarks.waiting.WaitContender;
import io.github.reactorratelimit.benchmarks.web.ServerKind;
import io.github.reactorratelimit.benchmarks.web.WebBenchmark;
import java.util.List;

/** Every group, in the order of the report. */
final class Groups {

    private static final String PER_SECOND = ", 1 000 per second, burst 100";
    private static final String PER_MINUTE = ", 100 per minute, burst 20";

    static final List<Group> ALL = List.of(
            oneKey("one-key-1", "One key, allowed, 1 thread" + PER_SECOND),
            oneKey("one-key-2", "One key, allowed, 2 threads" + PER_SECOND).onThreads(2),
            oneKey("one-key-8", "One key, allowed, 8 threads" + PER_SECOND).onThreads(8),
            oneKey("one-key-minute", "One key, allowed, 1 thread" + PER_MINUTE).with("limit", Limit.PER_MINUTE),
            oneKey("one-key-spaced", "One key, allowed, 1 thread, 10 per second, burst 1")
                    .with("limit", Limit.ONE_BY_ONE),
            oneKey("one-key-cost-5", "One key, allowed, 5 permits each, 1 thread" + PER_SECOND)
                    .with("cost", 5),
            decision(
                            "one-key-denied",
                            "One key, denied, 1 thread, 100 per day, burst 20",
                            LocalContender.TOKEN_BUCKET,
                            LocalContender.GCRA,
                            LocalContender.CLOCK_AND_READ,
                            LocalContender.BUCKET4J,
                            LocalContender.RESILIENCE4J,
                            LocalContender.GUAVA,
                            LocalContender.FAILSAFE)
                    .with("limit", Limit.PER_DAY),
            decision(
                            "long-key",
                            "A key of 200 characters, allowed, 1 thread" + PER_SECOND,
                            LocalContender.TOKEN_BUCKET,
                            LocalContender.CLOCK_AND_CAS_IN_MAP,
                            LocalContender.BUCKET4J_IN_MAP,
                            LocalContender.RESILIENCE4J_IN_MAP,
                            LocalContender.GUAVA_IN_MAP)
                    .with("keyLength", 200),
            policies("policies-second", "Every policy, allowed, 1 thread" + PER_SECOND)
                    .with(LocalContender.WARM_UP),
            policies("policies-minute", "Every policy, allowed, 1 thread" + PER_MINUTE)
                    .with("limit", Limit.PER_MINUTE),
            decision(
                    "composite-2",
                    "Two limits of one key, allowed, 1 thread" + PER_SECOND,
                    LocalContender.ALL_OF_TWO,
                    LocalContender.CLOCK_AND_CAS,
                    LocalContender.BUCKET4J_TWO),
            decision(
                    "composite-3",
                    "Three limits of one key, allowed, 1 thread" + PER_SECOND,
                    LocalContender.ALL_OF_THREE,
                    LocalContender.CLOCK_AND_CAS,
                    LocalContender.BUCKET4J_THREE),
            call(
                    "try-acquire",
                    "tryAcquire subscribed, allowed" + PER_SECOND,
                    MonoContender.TRY_ACQUIRE,
                    MonoContender.LEAST,
                    MonoContender.BUCKET4J,
                    MonoContender.GUAVA),
            call(
                    "mono-allowed",
                    "Mono through the operator, allowed" + PER_SECOND,
                    MonoContender.OPERATOR,
                    MonoContender.LEAST,
                    MonoContender.BARE,
                    MonoContender.BUCKET4J,
                    MonoContender.GUAVA,
                    MonoContender.RESILIENCE4J),
            call(
                            "mono-denied",
                            "Mono through the operator, denied, 100 per day, burst 20",
                            MonoContender.OPERATOR,
                            MonoContender.LEAST,
                            MonoContender.BUCKET4J,
                            MonoContender.GUAVA,
                            MonoContender.RESILIENCE4J)
                    .with("limit", Limit.PER_DAY)
                    .noting("The errors of all contenders have no stack trace."),
            flux("flux-pushed", "Flux element, pushed source, allowed" + PER_SECOND, "pushed"),
            flux("flux-fused", "Flux element, fused source, allowed" + PER_SECOND, "fused"),
            call(
                    "concurrency",
                    "Concurrency limit of 100 through the operator",
                    MonoContender.CONCURRENCY,
                    MonoContender.BARE,
                    MonoContender.BULKHEAD),
            call(
                    "acquire-all",
                    "Three limiters at once, allowed" + PER_SECOND + " and wider",
                    MonoContender.ACQUIRE_ALL,
                    MonoContender.LEAST,
                    MonoContender.BUCKET4J_THREE),
            call(
                    "refund",
                    "One permit acquired and refunded" + PER_SECOND,
                    MonoContender.REFUND,
                    MonoContender.LEAST,
                    MonoContender.BUCKET4J_REFUND),
            keys("keys-million-zipf", "10^6 keys, Zipf, allowed, 1 thread", Distribution.ZIPF, 1_000_000),
            keys("keys-million-zipf-2", "10^6 keys, Zipf, allowed, 2 threads", Distribution.ZIPF, 1_000_000)
                    .onThreads(2),
            keys("keys-million-uniform", "10^6 keys, uniform, allowed, 1 thread", Distribution.UNIFORM, 1_000_000),
            keys("keys-million-uniform-2", "10^6 keys, uniform, allowed, 2 threads", Distribution.UNIFORM, 1_000_000)
                    .onThreads(2),
            keys("keys-thousand", "10^3 keys, uniform, allowed, 1 thread", Distribution.UNIFORM, 1_000),
            memory(),
            waiting("waiter-hold", "100 000 waiters of one key: heap of a waiter", "hold"),
            waiting("waiter-grant", "Waiters of one key at 1 000 per second: processor time of a grant", "grants"),
            waiting("waiter-crowd", "100 000 waiters of one key leave at 50 000 per second: 20 µs are ideal", "crowd"),
            queue("waiter-join-100", 100),
            queue("waiter-join-10000", 10_000),
            pacing(100),
            pacing(1_000),
            pacing(10_000),
            redis("redis-one", "Redis, one key, 1 in flight, allowed, 10 000 per second, burst 1 000")
                    .with("inFlight", 1)
                    .with("permits", 10_000)
                    .with("burst", 1_000),
            redis("redis-hot-64", "Redis, one key, 64 in flight from two instances, mostly denied" + PER_SECOND)
                    .with("instances", 2),
            redis("redis-hot-512", "Redis, one key, 512 in flight from two instances, mostly denied" + PER_SECOND)
                    .with("inFlight", 512)
                    .with("instances", 2),
            redis("redis-many-64", "Redis, 10 000 keys, 64 in flight, allowed" + PER_SECOND)
                    .with("keys", 10_000),
            redis("redis-many-512", "Redis, 10 000 keys, 512 in flight, allowed" + PER_SECOND)
                    .with("keys", 10_000)
                    .with("inFlight", 512),
            Group.of(
                            "redis-policies",
                            "Redis, 10 000 keys, 64 in flight, allowed, other policies" + PER_SECOND,
                            RedisBenchmark.class,
                            "decide",
                            RedisContender.OURS,
                            RedisContender.POLICY_VERSION,
                            RedisContender.FIXED_WINDOW,
                            RedisContender.SLIDING_COUNTER,
                            RedisContender.SLIDING_LOG,
                            RedisContender.SCRIPT)
                    .with("keys", 10_000),
            web(
                    "web-local",
                    "WebFlux filter, allowed, limits in the process",
                    ServerKind.OURS,
                    ServerKind.BARE,
                    ServerKind.BUCKET4J_STARTER),
            web(
                    "web-redis",
                    "WebFlux filter, allowed, limits on Redis",
                    ServerKind.OURS_REDIS,
                    ServerKind.BARE,
                    ServerKind.SCRIPT,
                    ServerKind.GATEWAY),
            web(
                    "web-denied",
                    "WebFlux filter, denied",
                    ServerKind.OURS_DENIED,
                    ServerKind.OURS_REDIS_DENIED,
                    ServerKind.DENYING,
                    ServerKind.BARE,
                    ServerKind.BUCKET4J_STARTER_DENIED,
                    ServerKind.GATEWAY_DENIED));

    private Groups() {}

    private static Group decision(String name, String title, LocalContender... contenders) {
        return Group.of(name, title, OneKeyBenchmark.class, "decide", contenders);
    }

    private static Group oneKey(String name, String title) {
        return decision(
                        name,
                        title,
                        LocalContender.TOKEN_BUCKET,
                        LocalContender.GCRA,
                        LocalContender.CLOCK_AND_CAS,
                        LocalContender.BUCKET4J,
                        LocalContender.RESILIENCE4J,
                        LocalContender.GUAVA,
                        LocalContender.FAILSAFE)
                .noting("This library finds the key in its table each time; the peers have a limiter at hand.");
    }

    private static Group policies(String name, String title) {
        return decision(
                name,
                title,
                LocalContender.TOKEN_BUCKET,
                LocalContender.STEPWISE_BUCKET,
                LocalContender.GCRA,
                LocalContender.LEAKY_BUCKET,
                LocalContender.FIXED_WINDOW,
                LocalContender.SLIDING_WINDOW_COUNTER,
                LocalContender.SLIDING_WINDOW_LOG,
                LocalContender.CLOCK_AND_CAS,
                LocalContender.BUCKET4J);
    }

    private static Group call(String name, String title, MonoContender... contenders) {
        return Group.of(name, title, MonoBenchmark.class, "subscribe", contenders);
    }

    private static Group flux(String name, String title, String method) {
        return Group.of(name, title, FluxBenchmark.class, method, FluxContender.values());
    }

    private static Group keys(String name, String title, Distribution distribution, int keys) {
        return Group.of(
                        name,
                        title + PER_SECOND,
                        ManyKeysBenchmark.class,
                        "decide",
                        LocalContender.TOKEN_BUCKET,
                        LocalContender.CLOCK_AND_CAS_IN_MAP,
                        LocalContender.GUAVA_IN_MAP,
                        LocalContender.BUCKET4J_IN_MAP,
                        LocalContender.RESILIENCE4J_IN_MAP)
                .with("distribution", distribution)
                .with("keys", keys)
                .noting("The map holds a limiter per key and never evicts one.");
    }

    private static Group memory() {
        return Group.of(
                        "memory",
                        "Heap of a key at 10^6 keys, key strings excluded, 100 per day, burst 20",
                        MemoryBenchmark.class,
                        "fill",
                        LocalContender.TOKEN_BUCKET,
                        LocalContender.GCRA,
                        LocalContender.LEAKY_BUCKET,
                        LocalContender.FIXED_WINDOW,
                        LocalContender.SLIDING_WINDOW_COUNTER,
                        LocalContender.SLIDING_WINDOW_LOG,
                        LocalContender.WARM_UP,
                        LocalContender.CLOCK_AND_CAS_IN_MAP,
                        LocalContender.GUAVA_IN_MAP,
                        LocalContender.BUCKET4J_IN_MAP,
                        LocalContender.RESILIENCE4J_IN_MAP)
                .noting("Read the column `bytes per key`. Each key has used one permit.");
    }

    private static Group waiting(String name, String title, String method) {
        return Group.of(
                name,
                title,
                GrantBenchmark.class,
                method,
                WaitContender.ACQUIRE,
                WaitContender.ACQUIRE_WITH_MAX_WAIT,
                WaitContender.BUCKET4J);
    }

    private static Group queue(String name, int waiters) {
        return Group.of(
                        name,
                        "One of " + waiters + " waiters of a key cancels, another joins",
                        QueueBenchmark.class,
                        "cancelAndJoin",
                        WaitContender.ACQUIRE,
                        WaitContender.ACQUIRE_WITH_MAX_WAIT)
                .with("waiters", waiters)
                .noting("A wait of Bucket4j cannot be cancelled, so that it does not take part.");
    }

    private static Group pacing(int perSecond) {
        return Group.of(
                        "pacing-" + perSecond,
                        "A Flux paced at " + perSecond + " per second: elements per second",
                        PacingBenchmark.class,
                        "perSecond" + perSecond,
                        Pacer.values())
                .noting(
                        "The elements of the first burst do not count. Deviations are those of gaps from the interval.");
    }

    private static Group redis(String name, String title) {
        return Group.of(name, title, RedisBenchmark.class, "decide", RedisContender.ofBuckets());
    }

    private static Group web(String name, String title, ServerKind... contenders) {
        return Group.of(name, title, WebBenchmark.class, "request", contenders)
                .noting("64 persistent connections from 64 addresses, 10 000 per second for each address if allowed.");
    }
}
