package io.github.reactorratelimit.benchmarks.redis;

import io.github.bucket4j.distributed.proxy.optimization.DelayParameters;
import io.github.bucket4j.distributed.proxy.optimization.Optimization;
import io.github.bucket4j.distributed.proxy.optimization.Optimizations;
import io.github.reactorratelimit.redis.RedisStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** For now: {@code LoadMain inFlight keys rounds [contender...]}. */
public final class LoadMain {

    private LoadMain() {}

    static Map<String, Target.Opener> all() {
        Map<String, Target.Opener> all = new LinkedHashMap<>();
        all.put("coalesced", Ours.with(store -> store));
        all.put("leased", Ours.with(RedisStore::leasing));
        all.put("single", Ours.with(RedisStore::withoutCoalescing));
        all.put("script", SmallestScript::open);
        all.put("ping", Ping::open);
        all.put("b4j-cas", Bucket4j.with(Optimization.NONE_OPTIMIZED));
        all.put("b4j-batching", Bucket4j.with(Optimizations.batching()));
        all.put(
                "b4j-delaying",
                Bucket4j.with(Optimizations.delaying(new DelayParameters(1_000, Duration.ofSeconds(1)))));
        all.put("redisson", RedissonLimiter::open);
        all.put("gateway", GatewayScript::open);
        return all;
    }

    /** Runs. */
    public static void main(String[] arguments) throws Exception {
        int inFlight = Integer.parseInt(arguments[0]);
        int keys = Integer.parseInt(arguments[1]);
        int rounds = Integer.parseInt(arguments[2]);
        List<String> chosen = List.of(arguments).subList(3, arguments.length);
        Map<String, Target.Opener> all = all();
        Map<String, Target> open = new LinkedHashMap<>();
        try (RedisBench bench = RedisBench.start()) {
            for (Map.Entry<String, Target.Opener> entry : all.entrySet()) {
                if (chosen.isEmpty() || chosen.contains(entry.getKey())) {
                    open.put(entry.getKey(), entry.getValue().open(bench, entry.getKey(), keys, Limit.OPEN));
                }
            }
            Map<String, List<LoadResult>> results = new LinkedHashMap<>();
            for (int round = 0; round < rounds; round++) {
                for (Map.Entry<String, Target> entry : open.entrySet()) {
                    LoadResult result = new Load(entry.getValue(), keys, inFlight)
                            .run(Duration.ofMillis(round == 0 ? 1500 : 400), Duration.ofMillis(1500));
                    results.computeIfAbsent(entry.getKey(), name -> new ArrayList<>())
                            .add(result);
                }
            }
            results.forEach((name, list) -> list.forEach(result -> System.out.printf(
                    "%4d in flight %6d keys  %-14s %9.0f/s  p50 %8.1f us  p99 %8.1f us %7.0f B  allowed %.3f%n",
                    inFlight,
                    keys,
                    name,
                    result.decisionsPerSecond(),
                    result.p50Micros(),
                    result.p99Micros(),
                    result.bytesPerDecision(),
                    result.allowedShare())));
        } catch (Exception failed) {
            System.out.println(failed + ": " + failed.getCause());
        } finally {
            System.exit(0);
        }
    }
}
