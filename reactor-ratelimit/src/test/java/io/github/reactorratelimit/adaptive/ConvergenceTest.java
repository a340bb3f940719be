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
    private static final long SEEDS = Boolean.getBoolean("ratelimit.tests.full") ? 50 : 1;

    /** How long it may take to converge; and of what was possible, the times in between included, so much is served. */
    private record Bounds(Duration fromTheFloor, Duration down, Duration up, double overall) {}

    private static final Bounds USUAL = new Bounds(ofSeconds(10), ofSeconds(10), ofSeconds(15), 0.85);

    /** Each probe costs such a downstream all that is in flight, so there are fewer of them. */
    private static final Bounds COLLAPSES = new Bounds(ofSeconds(20), ofSeconds(15), ofSeconds(20), 0.75);

    private static final double GOODPUT = 0.85;
    private static final double REFUSED = 0.02;

    private record Case(
            String name, AdaptivePolicy policy, Manner manner, Duration latency, double jitter, double times) {

        Case(String name, AdaptivePolicy policy, Manner manner, Duration latency, double jitter) {
            this(name, policy, manner, latency, jitter, 1);
        }

        Bounds bounds() {
            return manner == Manner.FAILS || manner == Manner.FAILS_UNEVENLY ? COLLAPSES : USUAL;
        }

        private List<Simulation.Phase> phases() {
            return PHASES.stream()
                    .map(phase -> new Simulation.Phase(times * phase.capacity(), phase.length()))
                    .toList();
        }

        List<Course> courses(long seed) {
            List<Simulation.Point> points =
                    new Simulation(policy, manner, latency, jitter, 0, CALLERS).run(phases(), seed);
            List<Course> courses = new ArrayList<>();
            for (int i = 0; i < PHASES.size(); i++) {
                List<Simulation.Point> phase = points.subList(i * STEPS, (i + 1) * STEPS);
                courses.add(Course.of(
                        phase, possiblePerSecond(phases().get(i).capacity()) * Simulation.STEP.toMillis() / 1e3));
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
                        0.3),
                new Case("AIMD, fails", aimd, Manner.FAILS, ofMillis(50), 0.3),
                new Case("AIMD, fails, near", aimd, Manner.FAILS, ofMillis(10), 0.3),
                new Case("gradient, fails", gradient, Manner.FAILS, ofMillis(50), 0.3),
                new Case("AIMD, fails, called unevenly", aimd, Manner.FAILS_UNEVENLY, ofMillis(50), 0.3),
                new Case("AIMD, fails, a third more", aimd, Manner.FAILS_UNEVENLY, ofMillis(50), 0.3, 1.3),
                new Case("AIMD, fails, a quarter less", aimd, Manner.FAILS_UNEVENLY, ofMillis(50), 0.3, 0.77));
    }

    @TestFactory
    Stream<DynamicTest> limitFindsTheCapacityAndFollowsIt() {
        return cases().map(each -> DynamicTest.dynamicTest(
                each.name(), () -> LongStream.rangeClosed(1, SEEDS).forEach(seed -> check(each, seed))));
    }

    private static void check(Case each, long seed) {
        List<Course> courses = each.courses(seed);
        Bounds bounds = each.bounds();
        String what = each.name() + ", seed " + seed + ": " + courses;
        System.out.println(what);
        assertThat(courses.get(0).convergence()).as(what).isLessThanOrEqualTo(bounds.fromTheFloor());
        assertThat(courses.get(1).convergence()).as(what).isLessThanOrEqualTo(bounds.down());
        assertThat(courses.get(2).convergence()).as(what).isLessThanOrEqualTo(bounds.up());
        assertThat(courses).as(what).allSatisfy(course -> {
            assertThat(course.goodput()).isGreaterThanOrEqualTo(GOODPUT);
            assertThat(course.refusedShare()).isLessThan(REFUSED);
        });
        double served = courses.stream().mapToLong(Course::served).sum();
        double possible = courses.stream().mapToDouble(Course::possible).sum();
        assertThat(served / possible).as("overall goodput of " + what).isGreaterThanOrEqualTo(bounds.overall());
    }
}
