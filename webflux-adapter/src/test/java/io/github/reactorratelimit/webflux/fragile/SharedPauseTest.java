package io.github.reactorratelimit.webflux.fragile;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.redis.harness.Sweep;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.github.reactorratelimit.webflux.fragile.FragileServer.Arrival;
import io.github.reactorratelimit.webflux.fragile.FragileServer.Settings;
import io.github.reactorratelimit.webflux.fragile.Run.Made;
import io.github.reactorratelimit.webflux.fragile.Run.Pause;
import io.github.reactorratelimit.webflux.fragile.Run.Told;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * One of several processes reads a 429 that asks for a pause: all of them are silent until its end, and leave one after the other
 * then. One caller of each process has little patience: it is told at once that its turn would come too late when its
 * process learns of the pause, and when it asks again. The longest time until then is the propagation delay, which is printed and never
 * part of an assertion, since no machine promises any. What is asserted holds on any machine: by the clock of Redis, no call of a process that
 * knew of the pause, and no call that was asked for in it, is granted before its end; grants lie an interval apart; and by the clock of the
 * server, no call arrives before it was granted.
 */
@ExtendWith(RedisExtension.class)
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class SharedPauseTest {

    private static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");
    private static final int PROCESSES = FULL ? 3 : 2;
    private static final int WAITERS = 50;
    private static final int PER_SECOND = 50;
    private static final Duration PAUSE = Duration.ofSeconds(FULL ? 3 : 2);

    /** Longer than the line is without the pause by as much as it is shorter than with it. */
    private static final Duration PATIENCE = Duration.ofSeconds(1).plus(PAUSE.dividedBy(2));

    private static final Duration LONG = Duration.ofMinutes(2);

    private static final Settings SERVER = Settings.of(1_000, Overload.REFUSES)
            .withTolerance(Duration.ofHours(1))
            .withLatency(Duration.ofMillis(20));

    private static Run run(ClientPlan plan, FragileServer server, Standalone redis) {
        try (Processes processes = Processes.start(PROCESSES, plan, server, redis)) {
            Await.until("everybody waits", () -> server.arrived() > WAITERS);
            server.answerNext(429, Long.toString(PAUSE.toSeconds()));
            Await.until("there is a 429", () -> server.failed() == 1);
            int before = server.arrived();
            Await.until("they call again", () -> server.arrived() > before + WAITERS);
            processes.stop();
            return processes.await();
        }
    }

    /** When each process knew of the pause, at the latest. */
    private static Map<String, Told> toldFirst(Run run, Pause pause) {
        Map<String, Told> first = new HashMap<>();
        run.told.stream()
                .filter(told -> told.askedMicros() >= pause.afterMicros())
                .sorted(Comparator.comparingLong(Told::nanos))
                .forEach(told -> first.putIfAbsent(told.process(), told));
        return first;
    }

    @Test
    void nobodyCallsInThePauseAndThereIsNoHerdAfterIt(Standalone redis) {
        try (FragileServer server = FragileServer.start(SERVER)) {
            ClientPlan plan = new ClientPlan(
                    redis.uri().toURI().toString(),
                    "pause-" + UUID.randomUUID(),
                    server.url(),
                    true,
                    PER_SECOND,
                    (WAITERS + PROCESSES - 1) / PROCESSES,
                    PATIENCE,
                    LONG);
            Run run = run(plan, server, redis);
            assertThat(run.hung()).isZero();
            SharedLimitTest.assertEachArrivalWasGranted(run);
            assertThat(run.pauses).hasSize(1);
            assertThat(run.calls)
                    .filteredOn(call -> call.status() != 200)
                    .extracting(Made::status)
                    .containsExactly(429);
            check(plan, run, run.pauses.get(0));
        }
    }

    private static void check(ClientPlan plan, Run run, Pause pause) {
        Map<String, Told> told = toldFirst(run, pause);
        long delayNanos = told.values().stream()
                .mapToLong(first -> first.nanos() - pause.readNanos())
                .max()
                .orElse(PAUSE.toNanos());
        print(run, pause, delayNanos);
        long endMicros = pause.beforeMicros() + TimeUnit.NANOSECONDS.toMicros(PAUSE.toNanos());
        assertThat(run.calls)
                .as("asked in the pause and left before its end")
                .filteredOn(call -> call.beganNanos() - pause.begunNanos() > 0 && call.slotMicros() < endMicros)
                .isEmpty();
        assertThat(run.calls)
                .as("left in the pause, after their process knew of it")
                .filteredOn(call -> knew(told.get(call.process()), call) && call.slotMicros() < endMicros)
                .isEmpty();
        assertThat(Sweep.used(plan.policy(), run.slots())).as("closest grants").isLessThanOrEqualTo(1);
        assertThat(run.arrivedBeforeTheirSlots(pause)).as("arrived too soon").isEmpty();
        if (FULL) {
            assertThat(told).as("processes that learned of the pause").hasSize(PROCESSES);
        }
    }

    /**
     * Decided after its process had learned of the pause: its slot lies later, and so does the moment it was told. A process that stood
     * still for the whole pause may never have been told.
     */
    private static boolean knew(@Nullable Told told, Made call) {
        return told != null && call.slotMicros() >= told.toldMicros() && call.grantedNanos() > told.nanos();
    }

    private static List<Arrival> arrivedIn(Run run, Pause pause) {
        return run.arrivals.stream()
                .filter(arrival -> arrival.nanos() - pause.readNanos() > 0
                        && arrival.nanos() - pause.readNanos() < PAUSE.toNanos())
                .toList();
    }

    private static void print(Run run, Pause pause, long delayNanos) {
        List<Arrival> stragglers = arrivedIn(run, pause);
        long firstAfter = run.arrivals.stream()
                .mapToLong(arrival -> arrival.nanos() - pause.readNanos())
                .filter(nanos -> nanos >= PAUSE.toNanos())
                .min()
                .orElseThrow();
        System.out.printf(
                "%npause of %s, %d processes, %d waiters, %d per second: all knew of it %s after the 429 was read; %d calls arrived"
                        + " in it, the last after %s; the next one after %s; then the closest within J = %s of their interval%n",
                PAUSE,
                PROCESSES,
                WAITERS,
                PER_SECOND,
                Run.millis(delayNanos),
                stragglers.size(),
                stragglers.isEmpty()
                        ? "-"
                        : Run.millis(stragglers.get(stragglers.size() - 1).nanos() - pause.readNanos()),
                Run.millis(firstAfter),
                Run.millis(run.jitterNanos()));
    }
}
