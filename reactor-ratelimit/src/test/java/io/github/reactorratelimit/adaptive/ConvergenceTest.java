package io.github.reactorratelimit.adaptive;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.adaptive.SimulatedDownstream.Manner;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * The capacity of a downstream goes from 100 to 20 to 150 per second, a minute each. The limiter and its operator are the real ones, time and downstream are
 * not: a seed gives the same course on every machine, so the bounds hold or they do not.
 */
class ConvergenceTest {

    private static final Duration PHASE = ofSeconds(60);
    private static final List<Simulation.Phase> PHASES = List.of(
            new Simulation.Phase(100, PHASE), new Simulation.Phase(20, PHASE), new Simulation.Phase(150, PHASE));
    private static final int STEPS = (int) PHASE.dividedBy(Simulation.STEP);
    private static final int CALLERS = 300;
    private static final long SEEDS = Boolean.getBoolean("ratelimit.tests.full") ? 50 : 2;

    private static final Duration FROM_THE_FLOOR = ofSeconds(10);
    private static final Duration DOWN = ofSeconds(10);
    private static final Duration UP = ofSeconds(15);
    private static final double GOODPUT = 0.85;
    private static final double REFUSED = 0.02;

    private record Case(String name, AdaptivePolicy policy, Manner manner, Duration latency, double jitter) {

        List<Course> courses(long seed) {
            List<Simulation.Point> points = new Simulation(policy, manner, latency, jitter, CALLERS).run(PHASES, seed);
            List<Course> courses = new ArrayList<>();
            for (int i = 0; i < PHASES.size(); i++) {
                List<Simulation.Point> phase = points.subList(i * STEPS, (i + 1) * STEPS);
                courses.add(Course.of(
                        phase, possiblePerSecond(PHASES.get(i).capacity()) * Simulation.STEP.toMillis() / 1e3));
            }
            return courses;
        }

        private double possiblePerSecond(double capacity) {
            return manner == Manner.REFUSES_IN_FLIGHT
                    ? capacity * 1e9 / (latency.toNanos() * (1 + jitter / 2))
                    : capacity;
        }
    }

    private static Stream<Case> cases() {
        Adaptation slow = Adaptation.aimd().withSlowCalls(ofMillis(200));
        AdaptiveRate aimd = AdaptiveRate.aimd(5, 500, ofSeconds(1));
        AdaptiveRate gradient = AdaptiveRate.gradient(5, 500, ofSeconds(1));
        AdaptiveConcurrency inFlight = AdaptiveConcurrency.aimd(1, 500);
        return Stream.of(
                new Case("AIMD, refuses", aimd, Manner.REFUSES, ofMillis(10), 0.3),
                new Case("AIMD, refuses, far away", aimd, Manner.REFUSES, ofMillis(80), 0.3),
                new Case("AIMD, refuses, uneven", aimd, Manner.REFUSES, ofMillis(30), 2),
                new Case("gradient, refuses", gradient, Manner.REFUSES, ofMillis(50), 0.3),
                new Case("AIMD, slows down", aimd.withAdaptation(slow), Manner.SLOWS_DOWN, ofMillis(50), 0.3),
                new Case("gradient, slows down", gradient, Manner.SLOWS_DOWN, ofMillis(50), 0.3),
                new Case("gradient, slows down, far away", gradient, Manner.SLOWS_DOWN, ofMillis(100), 0.3),
                new Case(
                        "gradient, slows down and refuses", gradient, Manner.SLOWS_DOWN_AND_REFUSES, ofMillis(50), 0.3),
                new Case("AIMD in flight", inFlight, Manner.REFUSES_IN_FLIGHT, ofMillis(200), 0.3),
                new Case(
                        "gradient in flight",
                        AdaptiveConcurrency.gradient(1, 500),
                        Manner.REFUSES_IN_FLIGHT,
                        ofMillis(100),
                        0.3));
    }

    @TestFactory
    Stream<DynamicTest> limitFindsTheCapacityAndFollowsIt() {
        return cases().map(each -> DynamicTest.dynamicTest(
                each.name(), () -> LongStream.rangeClosed(1, SEEDS).forEach(seed -> check(each, seed))));
    }

    private static void check(Case each, long seed) {
        List<Course> courses = each.courses(seed);
        String what = each.name() + ", seed " + seed + ": " + courses;
        System.out.println(what);
        assertThat(courses.get(0).convergence()).as(what).isLessThanOrEqualTo(FROM_THE_FLOOR);
        assertThat(courses.get(1).convergence()).as(what).isLessThanOrEqualTo(DOWN);
        assertThat(courses.get(2).convergence()).as(what).isLessThanOrEqualTo(UP);
        assertThat(courses).as(what).allSatisfy(course -> {
            assertThat(course.goodput()).isGreaterThanOrEqualTo(GOODPUT);
            assertThat(course.refusedShare()).isLessThan(REFUSED);
        });
        double served = courses.stream().mapToLong(Course::served).sum();
        double possible = courses.stream().mapToDouble(Course::possible).sum();
        assertThat(served / possible).as("overall goodput of " + what).isGreaterThanOrEqualTo(GOODPUT);
    }
}
