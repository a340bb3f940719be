package io.github.reactorratelimit.adaptive;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

/**
 * Callers that always have more to send, the real limiter and operator, and a simulated downstream, all in virtual time: the same seed gives the same
 * course, on any machine.
 */
final class Simulation {

    static final Duration STEP = Duration.ofMillis(100);

    /** What was counted in one {@link #STEP}. */
    record Point(double seconds, double capacity, long limit, long served, long refused) {}

    /** A time with one capacity. */
    record Phase(double capacity, Duration length) {}

    private final AdaptivePolicy policy;
    private final SimulatedDownstream.Manner manner;
    private final Duration latency;
    private final double jitter;
    private final double errors;
    private final int callers;

    Simulation(
            AdaptivePolicy policy,
            SimulatedDownstream.Manner manner,
            Duration latency,
            double jitter,
            double errors,
            int callers) {
        this.policy = policy;
        this.manner = manner;
        this.latency = latency;
        this.jitter = jitter;
        this.errors = errors;
        this.callers = callers;
    }

    List<Point> run(List<Phase> phases, long seed) {
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        SimulatedDownstream downstream = new SimulatedDownstream(
                manner, latency, jitter, errors, phases.get(0).capacity(), time, seed);
        AdaptiveLimiter limiter = AdaptiveLimiter.builder(policy)
                .scheduler(time)
                .overloadWhen(SimulatedDownstream.Refused.class::isInstance)
                .build();
        List<Point> points = new ArrayList<>();
        Disposable.Composite calls = Disposables.composite();
        try {
            for (int i = 0; i < callers; i++) {
                calls.add(Mono.defer(downstream::call)
                        .transform(limiter.<Integer>limitCalls())
                        .onErrorComplete(SimulatedDownstream.Refused.class)
                        .repeat()
                        .subscribe());
            }
            for (Phase phase : phases) {
                downstream.capacity(phase.capacity());
                for (long i = 0; i < phase.length().dividedBy(STEP); i++) {
                    points.add(step(time, downstream, limiter, phase.capacity(), points.size() + 1));
                }
            }
            return points;
        } finally {
            calls.dispose();
            limiter.dispose();
            time.dispose();
        }
    }

    private static Point step(
            VirtualTimeScheduler time,
            SimulatedDownstream downstream,
            AdaptiveLimiter limiter,
            double capacity,
            int n) {
        long served = downstream.served();
        long refused = downstream.refused();
        time.advanceTimeBy(STEP);
        return new Point(
                n * STEP.toMillis() / 1e3,
                capacity,
                limiter.currentLimit(),
                downstream.served() - served,
                downstream.refused() - refused);
    }
}
