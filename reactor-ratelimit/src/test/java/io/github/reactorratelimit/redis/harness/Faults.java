package io.github.reactorratelimit.redis.harness;

import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.RedisServer;
import io.lettuce.core.RedisCommandExecutionException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/** What goes wrong, one after the other. */
final class Faults {

    private static final int FAILOVERS = 5;
    private static final int RESETS = 20;
    private static final String FILLER = "x".repeat(64 * 1024);
    private static final int SPARE_BYTES = 1 << 20;

    private Faults() {}

    /** Those that take no longer than they must. */
    static List<Fault> cheap(Duration each) {
        return List.of(
                Fault.answered("script flush", (site, load, progress) -> flushScripts(site, each)),
                Fault.of("reset, 10 ms", (site, load, progress) -> resets(site)),
                Fault.of("black hole", (site, load, progress) -> {
                    site.proxy().blackHole();
                    pass(each);
                    site.proxy().pass();
                }),
                Fault.of("latency 2x100 ms", (site, load, progress) -> {
                    site.proxy().latency(Duration.ofMillis(100));
                    pass(each);
                    site.proxy().pass();
                }),
                Fault.answered("OOM, noeviction", (site, load, progress) -> outOfMemory(site.server(), each)),
                Fault.answered("READONLY", (site, load, progress) -> readOnly(site.server(), each)));
    }

    /** Those that show little more than the others do. */
    static List<Fault> more(Duration each) {
        return List.of(
                Fault.of("latency 2x15 ms", (site, load, progress) -> {
                    site.proxy().latency(Duration.ofMillis(15));
                    pass(each);
                    site.proxy().pass();
                }),
                Fault.answered("NOREPLICAS", (site, load, progress) -> noReplicas(site.server(), each)));
    }

    static Fault stop(Duration time) {
        return Fault.of("SIGSTOP " + time.toSeconds() + " s", (site, load, progress) -> {
            site.server().pause();
            pass(time);
            site.server().resume();
        });
    }

    /** The failovers of replica sets and clusters. */
    static List<Fault> kills() {
        return List.of(
                Fault.failovers("kill -9, Sentinel", FaultSite::sentinels, FAILOVERS, Faults::killUnderSentinels),
                Fault.failovers("kill -9, Cluster", FaultSite::cluster, FAILOVERS, Faults::killInCluster));
    }

    private static void pass(Duration time) {
        long end = System.nanoTime() + time.toNanos();
        for (long left = time.toNanos(); left > 0; left = end - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    private static void flushScripts(FaultSite site, Duration time) {
        long end = System.nanoTime() + time.toNanos();
        while (System.nanoTime() - end < 0) {
            site.server().<String>ask(server -> server.scriptFlush());
            pass(Duration.ofMillis(100));
        }
    }

    private static void resets(FaultSite site) {
        for (int i = 0; i < RESETS; i++) {
            long connections = site.proxy().connections();
            site.proxy().reset(Duration.ofMillis(10));
            Await.until("reconnected", () -> site.proxy().connections() > connections);
            pass(Duration.ofMillis(30));
        }
    }

    private static void outOfMemory(RedisServer server, Duration time) {
        server.ask(redis -> {
            long used = redis.info("memory")
                    .lines()
                    .filter(line -> line.startsWith("used_memory:"))
                    .mapToLong(line -> Long.parseLong(line.substring("used_memory:".length())))
                    .findFirst()
                    .orElseThrow();
            redis.configSet("maxmemory-policy", "noeviction");
            redis.configSet("maxmemory", Long.toString(used + SPARE_BYTES));
            try {
                for (int i = 0; ; i++) {
                    redis.set("filler" + i, FILLER);
                }
            } catch (RedisCommandExecutionException full) {
                return full.getMessage();
            }
        });
        server.<String>ask(redis -> redis.configSet("maxmemory", "1"));
        pass(time);
        server.<String>ask(redis -> redis.configSet("maxmemory", "0"));
    }

    /** Its master does not exist: it keeps its data, and refuses writes. */
    private static void readOnly(RedisServer server, Duration time) {
        server.<String>ask(redis -> redis.replicaof("127.0.0.1", 1));
        pass(time);
        server.<String>ask(redis -> redis.replicaofNoOne());
    }

    private static void noReplicas(RedisServer server, Duration time) {
        server.<String>ask(redis -> redis.configSet("min-replicas-to-write", "1"));
        pass(time);
        server.<String>ask(redis -> redis.configSet("min-replicas-to-write", "0"));
    }

    private static void killUnderSentinels(FaultSite site, FaultLoad load, Consumer<String> progress) {
        for (int i = 1; i <= FAILOVERS; i++) {
            RedisServer old = site.asSentinels().master();
            old.kill();
            RedisServer promoted = site.asSentinels().awaitFailoverFrom(old);
            progress.accept("failover " + i + " of " + FAILOVERS + ": " + promoted + " is master");
            if (i < FAILOVERS) {
                load.awaitNormal();
                site.asSentinels().awaitHealthy();
            }
        }
    }

    private static void killInCluster(FaultSite site, FaultLoad load, Consumer<String> progress) {
        String tag = FaultLoad.bucketTag(site.run());
        for (int i = 1; i <= FAILOVERS; i++) {
            RedisServer old = site.asCluster().masterOf(tag);
            old.kill();
            RedisServer promoted = site.asCluster().awaitFailoverFrom(old, tag);
            progress.accept("failover " + i + " of " + FAILOVERS + ": " + promoted + " is master");
            if (i < FAILOVERS) {
                load.awaitNormal();
                site.asCluster().awaitHealthy();
            }
        }
    }
}
