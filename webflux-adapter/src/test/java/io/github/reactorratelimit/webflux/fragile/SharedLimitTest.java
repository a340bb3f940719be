package io.github.reactorratelimit.webflux.fragile;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.redis.harness.Sweep;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.github.reactorratelimit.webflux.fragile.ArrivalsChart.Line;
import io.github.reactorratelimit.webflux.fragile.FragileServer.Arrival;
import io.github.reactorratelimit.webflux.fragile.FragileServer.Settings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Processes that share one limit through Redis and call a server that fails when it is called more often. In both forms grants keep the bound exactly,
 * arrivals keep it within the server's tolerance, and no call fails. The tolerance is stated before the run: the short form's is that of a busy
 * machine, and a limiter that granted half as much again would still exceed it. How much of the limit is used is asserted in the long form only.
 */
@ExtendWith(RedisExtension.class)
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class SharedLimitTest {

    private static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");
    private static final int PROCESSES = FULL ? 3 : 2;
    private static final int UNLIMITED_PROCESSES = FULL ? 3 : 1;
    private static final Duration DURATION = Duration.ofSeconds(FULL ? 60 : 5);
    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final int PER_SECOND = FULL ? 200 : 50;

    private static final Settings FRAGILE = Settings.of(PER_SECOND, Overload.FAILS)
            .withTolerance(Duration.ofMillis(FULL ? 500 : 2_000))
            .withLatency(Duration.ofMillis(20));

    /** What the tests of this class leave for the chart. */
    private static final List<Line> CHARTED = new CopyOnWriteArrayList<>();

    /** Drawn where {@code -Dratelimit.charts} says. */
    @AfterAll
    static void draw() throws IOException {
        String directory = System.getProperty("ratelimit.charts");
        if (directory != null) {
            String title = "Calls per second at a server that can do " + PER_SECOND;
            String subtitle = PROCESSES + " processes; above its capacity the server fails";
            Files.writeString(Path.of(directory, "outbound-arrivals.svg"), ArrivalsChart.svg(title, subtitle, CHARTED));
        }
    }

    private static ClientPlan plan(Standalone redis, FragileServer server, boolean limited, Duration duration) {
        return new ClientPlan(
                redis.uri().toURI().toString(),
                "shared-" + UUID.randomUUID(),
                server.url(),
                limited,
                PER_SECOND,
                16,
                Duration.ZERO,
                duration);
    }

    private static void print(String what, Run run) {
        System.out.printf(
                "%-20s %7d %7d %9.1f %9d %11.1f %11.1f%n",
                what,
                run.calls.size(),
                run.failures(),
                run.goodPerSecond(),
                run.busiestSecond(),
                run.latencyMillis(0.5),
                run.latencyMillis(0.99));
    }

    @Test
    void processesTogetherNeverOverrunTheServer(Standalone redis) {
        try (FragileServer server = FragileServer.start(FRAGILE)) {
            ClientPlan plan = plan(redis, server, true, DURATION);
            Run run;
            try (Processes processes = Processes.start(PROCESSES, plan, server, redis)) {
                run = processes.await();
            }
            assertThat(run.hung()).isZero();
            assertEachArrivalWasGranted(run);
            System.out.printf(
                    "%n%d processes, %s, %d per second: J = %s, of it from grant to arrival at most %s; %.2f%% of the slots used%n",
                    PROCESSES,
                    DURATION,
                    PER_SECOND,
                    Run.millis(run.jitterNanos()),
                    Run.millis(run.largestWayNanos()),
                    100 * run.utilisation(plan.policy()));
            printHead();
            print("with the limiter", run);
            CHARTED.add(Line.of("with the limiter", "good", run.arrivals, arrival -> true));
            assertThat(Sweep.used(plan.policy(), run.slots()))
                    .as("closest grants")
                    .isLessThanOrEqualTo(1);
            assertThat(run.firstTooSoon(plan.policy(), FRAGILE.tolerance().toNanos()))
                    .as("arrival too soon, J = %s", Run.millis(run.jitterNanos()))
                    .isNegative();
            assertThat(run.failures()).as("failed calls").isZero();
            if (FULL) {
                assertThat(run.utilisation(plan.policy())).as("slots used").isGreaterThanOrEqualTo(0.97);
            }
        }
    }

    private static void printHead() {
        System.out.printf(
                "%-20s %7s %7s %9s %9s %11s %11s%n",
                "", "calls", "failed", "good/s", "busiest s", "median ms", "99 % ms");
    }

    static void assertEachArrivalWasGranted(Run run) {
        assertThat(run.calls).extracting(Run.Made::name).doesNotHaveDuplicates();
        assertThat(run.calls).extracting(Run.Made::slotMicros).doesNotContain(0L);
        assertThat(run.arrivals)
                .extracting(Arrival::call)
                .containsExactlyInAnyOrderElementsOf(
                        run.calls.stream().map(Run.Made::name).toList());
    }

    @Test
    void withoutTheLimiterTheSameProcessesDo(Standalone redis) {
        try (FragileServer server = FragileServer.start(FRAGILE)) {
            Run run;
            try (Processes processes = Processes.start(
                    UNLIMITED_PROCESSES, plan(redis, server, false, FULL ? DURATION : PATIENCE), server, redis)) {
                if (!FULL) {
                    Await.until("the server is overrun", () -> server.failed() > PER_SECOND);
                    processes.stop();
                }
                run = processes.await();
            }
            System.out.printf("%n%d processes, no limit%n", UNLIMITED_PROCESSES);
            printHead();
            print("without the limiter", run);
            CHARTED.add(Line.of("without it", "many", run.arrivals, arrival -> true));
            CHARTED.add(Line.of("without it, answered well", "few", run.arrivals, arrival -> arrival.status() == 200));
            assertThat(run.hung()).isZero();
            assertThat(run.failures()).as("failed calls").isGreaterThan(PER_SECOND);
        }
    }

    @Test
    void theCheckSeesAnArrivalTooSoon() {
        long[] nanos = {0, 5_000_000, 9_000_000, 15_000_000};
        LeakyBucket policy = LeakyBucket.perSecond(200);
        assertThat(Run.firstTooSoon(policy, nanos, 999_000)).isEqualTo(-1);
        assertThat(Run.firstTooSoon(policy, nanos, 998_999)).isEqualTo(2);
    }
}
