package io.github.reactorratelimit.adaptive;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import reactor.core.publisher.Mono;
import reactor.core.publisher.MonoSink;
import reactor.core.scheduler.Scheduler;

/** A downstream in virtual time whose capacity changes. Single-threaded: everything happens on the scheduler that moves the time. */
final class SimulatedDownstream {

    /** What it does with more than it can bear. */
    enum Manner {
        /** Refuses what finds its bucket empty, which holds a twentieth of a second's capacity and at least two. */
        REFUSES,
        /** Refuses what comes after the first {@code capacity} calls of each second. */
        REFUSES_BY_THE_SECOND,
        /** Serves one after the other; those that wait for it are without bound. */
        SLOWS_DOWN,
        /** Serves one after the other; refuses those that would wait for more than half a second. */
        SLOWS_DOWN_AND_REFUSES,
        /** Refuses what finds {@code capacity} calls in flight, each of which takes its time. */
        REFUSES_IN_FLIGHT,
        /** Fails what finds it a tenth of a second behind. A failure costs it as much as an answer, so it recovers only when it is called less. */
        FAILS,
        /** As {@link #FAILS}; and calls take up to 20 ms to get there, so that they come unevenly. */
        FAILS_UNEVENLY
    }

    /** Stands for a 429. */
    static final class Refused extends RuntimeException {
        private static final long serialVersionUID = 1L;

        Refused() {
            super("refused", null, false, false);
        }
    }

    private static final double NANOS = 1e9;
    private static final double BEHIND_NANOS = 0.1e9;
    /** Downstreams that fail are themselves again so long after the calls have stopped. */
    private static final double RECOVERY_NANOS = 1e9;

    private static final long WAY_NANOS = 20_000_000;

    private final Manner manner;
    private final Duration latency;
    private final double jitter;
    private final double errors;
    private final Scheduler scheduler;
    private final SplittableRandom random;
    private final Queue<MonoSink<Integer>> queue = new ArrayDeque<>();
    private double capacity;
    private double tokens;
    private long tokensAtNanos;
    private long second;
    private long inSecond;
    private boolean serving;
    private long inFlight;
    private double busyUntilNanos;
    private long served;
    private long refused;

    /**
     * @param jitter how many times as long a call may take, at random, beyond its latency
     * @param errors the share of answers that are failures at random, however little it is called
     */
    SimulatedDownstream(
            Manner manner,
            Duration latency,
            double jitter,
            double errors,
            double capacity,
            Scheduler scheduler,
            long seed) {
        this.manner = manner;
        this.latency = latency;
        this.jitter = jitter;
        this.errors = errors;
        this.scheduler = scheduler;
        this.random = new SplittableRandom(seed);
        this.capacity = capacity;
        this.tokens = capacity;
        this.tokensAtNanos = now();
        this.busyUntilNanos = now();
    }

    void capacity(double perSecond) {
        capacity = perSecond;
    }

    long served() {
        return served;
    }

    long refused() {
        return refused;
    }

    Mono<Integer> call() {
        return Mono.create(sink -> {
            switch (manner) {
                case REFUSES -> answer(sink, takeToken());
                case REFUSES_BY_THE_SECOND -> answer(sink, countInSecond());
                case SLOWS_DOWN -> line(sink);
                case SLOWS_DOWN_AND_REFUSES -> {
                    if (queue.size() > capacity / 2) {
                        answer(sink, false);
                    } else {
                        line(sink);
                    }
                }
                case REFUSES_IN_FLIGHT -> inFlight(sink);
                case FAILS -> answer(sink, bears());
                case FAILS_UNEVENLY ->
                    scheduler.schedule(() -> answer(sink, bears()), random.nextLong(WAY_NANOS), TimeUnit.NANOSECONDS);
            }
        });
    }

    private boolean takeToken() {
        long now = now();
        double depth = Math.max(2, capacity / 20);
        tokens = Math.min(depth, tokens + (now - tokensAtNanos) / NANOS * capacity);
        tokensAtNanos = now;
        if (tokens < 1) {
            return false;
        }
        tokens--;
        return true;
    }

    private boolean countInSecond() {
        long current = Math.floorDiv(now(), (long) NANOS);
        if (current != second) {
            second = current;
            inSecond = 0;
        }
        return ++inSecond <= capacity;
    }

    private boolean bears() {
        double now = now();
        busyUntilNanos = Math.max(busyUntilNanos, now);
        boolean bearable = busyUntilNanos - now <= BEHIND_NANOS;
        double after = busyUntilNanos + NANOS / capacity;
        busyUntilNanos = bearable ? after : Math.min(after, now + BEHIND_NANOS + RECOVERY_NANOS);
        return bearable;
    }

    private void line(MonoSink<Integer> sink) {
        queue.add(sink);
        serve();
    }

    private void serve() {
        if (!serving && !queue.isEmpty()) {
            serving = true;
            MonoSink<Integer> next = queue.remove();
            scheduler.schedule(
                    () -> {
                        serving = false;
                        answer(next, true);
                        serve();
                    },
                    (long) (NANOS / capacity),
                    TimeUnit.NANOSECONDS);
        }
    }

    private void inFlight(MonoSink<Integer> sink) {
        if (inFlight >= capacity) {
            answer(sink, false);
            return;
        }
        inFlight++;
        later(() -> {
            inFlight--;
            served++;
            sink.success(1);
        });
    }

    private void answer(MonoSink<Integer> sink, boolean granted) {
        boolean good = granted && (errors == 0 || random.nextDouble() >= errors);
        later(() -> {
            if (good) {
                served++;
                sink.success(1);
            } else {
                refused++;
                sink.error(new Refused());
            }
        });
    }

    private void later(Runnable answer) {
        double factor = 1 + jitter * random.nextDouble();
        scheduler.schedule(answer, (long) (latency.toNanos() * factor), TimeUnit.NANOSECONDS);
    }

    private long now() {
        return scheduler.now(TimeUnit.NANOSECONDS);
    }
}
