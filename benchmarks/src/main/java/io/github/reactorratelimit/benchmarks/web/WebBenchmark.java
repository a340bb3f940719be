package io.github.reactorratelimit.benchmarks.web;

import io.github.reactorratelimit.benchmarks.ComparedBenchmark;
import io.github.reactorratelimit.testing.redis.RedisServer;
import java.io.IOException;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** Requests per second to a server in another JVM. Load and server share the machine. */
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Warmup(iterations = 10, time = 1)
@Measurement(iterations = 3, time = 1)
public class WebBenchmark extends ComparedBenchmark {

    private static final int REQUESTS = 2_000;
    private static final int CONNECTIONS = 64;

    @Param
    public ServerKind contender = ServerKind.BARE;

    private @Nullable RedisServer redis;
    private @Nullable WebServerProcess server;
    private @Nullable HttpLoad load;

    /** Processor time per request, which shows a server alone. */
    @AuxCounters(AuxCounters.Type.EVENTS)
    @State(Scope.Thread)
    public static class ProcessorTime {

        /** Of the server's JVM, with compiler and collector. */
        public double serverMicros;

        /** Of Redis. */
        public double redisMicros;

        private Duration serverBefore = Duration.ZERO;
        private Duration redisBefore = Duration.ZERO;
        private long requests;

        /** Starts a new iteration. */
        @Setup(org.openjdk.jmh.annotations.Level.Iteration)
        public void start(WebBenchmark benchmark) {
            serverBefore = benchmark.serverTime();
            redisBefore = benchmark.redisTime();
            requests = 0;
        }

        private void add(WebBenchmark benchmark) {
            requests += REQUESTS;
            serverMicros = benchmark.serverTime().minus(serverBefore).toNanos() / 1e3 / requests;
            redisMicros = benchmark.redisTime().minus(redisBefore).toNanos() / 1e3 / requests;
        }
    }

    /**
     * Starts the server; one that denies allows the first requests of each client, which are not measured.
     */
    @Setup
    public void open() throws Exception {
        redis = RedisServer.start();
        server = WebServerProcess.start(contender, redis.port());
        load = HttpLoad.open(server.port(), CONNECTIONS);
        load.run(REQUESTS, 0);
    }

    /** Many requests. */
    @Benchmark
    @OperationsPerInvocation(REQUESTS)
    public void request(ProcessorTime time) throws IOException {
        Objects.requireNonNull(load).run(REQUESTS, contender.status());
        time.add(this);
    }

    private Duration serverTime() {
        return Objects.requireNonNull(server).processorTime();
    }

    private Duration redisTime() {
        return Objects.requireNonNull(redis).processorTime();
    }

    /** Ends both. */
    @TearDown
    public void close() throws IOException {
        Objects.requireNonNull(load).close();
        Objects.requireNonNull(server).close();
        Objects.requireNonNull(redis).close();
    }
}
