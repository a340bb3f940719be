package io.github.reactorratelimit.benchmarks.redis;

import io.github.reactorratelimit.benchmarks.ComparedBenchmark;
import io.github.reactorratelimit.benchmarks.redis.RedisLimiter.BucketSize;
import io.github.reactorratelimit.testing.redis.RedisServer;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** Decisions per second with a fixed number of requests in flight. Server and clients share the machine. */
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
public class RedisBenchmark extends ComparedBenchmark {

    private static final int DECISIONS = 2_000;

    @Param
    public RedisContender contender = RedisContender.OURS;

    @Param("1")
    public int keys;

    @Param("64")
    public int inFlight;

    /** Permits per second of a key. */
    @Param("1000")
    public long permits;

    /** Permits that a key can store. */
    @Param("100")
    public long burst;

    /** Connections that share the limits, as instances of an application do. */
    @Param("1")
    public int instances;

    private final List<RedisLimiter> limiters = new ArrayList<>();
    private @Nullable RedisServer server;
    private @Nullable RedisClient client;
    private @Nullable Load load;
    private long decisions;
    private long startNanos;

    /** How many requests were allowed. */
    @AuxCounters(AuxCounters.Type.EVENTS)
    @State(Scope.Thread)
    public static class Outcome {

        /** Share of all requests, in percent. */
        public double allowedPercent;

        /** Permits granted since the start, as a share of what one token bucket grants in that time. */
        public double timesBound;
    }

    /** Starts a server and connects. */
    @Setup
    public void open() throws Exception {
        server = RedisServer.start();
        RedisURI uri = server.uri();
        client = RedisClient.create(uri);
        String[] names = IntStream.range(0, keys)
                .mapToObj(number -> "customer-" + number)
                .toArray(String[]::new);
        startNanos = System.nanoTime();
        for (int i = 0; i < instances; i++) {
            limiters.add(contender.open(client, uri, names, new BucketSize(permits, burst)));
        }
        load = new Load(limiters, keys, inFlight);
    }

    /** A run of decisions. */
    @Benchmark
    @OperationsPerInvocation(DECISIONS)
    public void decide(Outcome outcome) {
        Load running = Objects.requireNonNull(load);
        running.run(DECISIONS);
        decisions += DECISIONS;
        double seconds = (System.nanoTime() - startNanos) / 1e9;
        outcome.allowedPercent = 100.0 * running.allowed() / decisions;
        outcome.timesBound = running.allowed() / (keys * (burst + permits * seconds));
    }

    /** Disconnects and ends the server. */
    @TearDown
    public void close() {
        limiters.forEach(RedisLimiter::close);
        Objects.requireNonNull(client).shutdown(Duration.ZERO, RedisLimiter.DEADLINE);
        Objects.requireNonNull(server).close();
    }
}
