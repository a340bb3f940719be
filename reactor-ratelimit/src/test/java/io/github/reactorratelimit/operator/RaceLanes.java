package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.ManualScheduler;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.testing.Race;
import io.github.reactorratelimit.testing.Seeds;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/** Many independent races between the same two signals, on real limiters whose clocks the test moves. */
final class RaceLanes implements AutoCloseable {

    static final long INTERVAL_NANOS = 1_000;
    private static final int LANES = 50;

    private final List<Lane> lanes = new ArrayList<>();
    private final Race race = new Race(LANES, Seeds.next());
    private final String name;
    private int leftWon;
    private int rightWon;

    RaceLanes(String name, RateLimitPolicy policy) {
        this.name = name;
        for (int i = 0; i < LANES; i++) {
            lanes.add(new Lane(policy));
        }
    }

    /** One limiter, and the probe of the current round. */
    static final class Lane {

        final ManualScheduler scheduler = new ManualScheduler(-5_000);
        final RateLimiter limiter;
        Probe probe = new Probe();

        private Lane(RateLimitPolicy policy) {
            limiter = RateLimiter.builder(policy).scheduler(scheduler).build();
        }

        Probe subscribe(UnaryOperator<LimitSpec<Integer>> spec) {
            probe = new Probe();
            probe.source().transform(limitRate(limiter, spec)).subscribe(probe);
            return probe;
        }

        /** Lets one interval pass. */
        void grant() {
            scheduler.advance(INTERVAL_NANOS);
            scheduler.runDue();
        }

        /** Takes a permit if it is there. */
        boolean takePermit() {
            return DirectLimiter.of(limiter).tryAcquireNow(LimitSpec.DEFAULT_KEY, 1);
        }
    }

    /** The same in every lane, before the first round. */
    RaceLanes prepare(Consumer<Lane> preparation) {
        lanes.forEach(preparation);
        return this;
    }

    /**
     * Runs that many races.
     *
     * @param leftWins tells after both ran, and after checking what must hold, which side was first
     */
    void run(int rounds, Consumer<Lane> setUp, Consumer<Lane> left, Consumer<Lane> right, Check leftWins) {
        for (int round = 0; round < rounds; round += LANES) {
            lanes.forEach(setUp);
            race.run(i -> left.accept(lanes.get(i)), i -> right.accept(lanes.get(i)));
            for (Lane lane : lanes) {
                if (leftWins.check(lane)) {
                    leftWon++;
                } else {
                    rightWon++;
                }
            }
        }
    }

    /** What must hold after a race. */
    interface Check {
        boolean check(Lane lane);
    }

    /** Nothing is left in the timers, and each side was first at least now and then. */
    @Override
    public void close() {
        race.close();
        System.out.printf("%s: %d : %d%n", name, leftWon, rightWon);
        for (Lane lane : lanes) {
            assertThat(lane.scheduler.pending()).as("pending timers").isZero();
        }
        assertThat(leftWon).as("races the left side won").isPositive();
        assertThat(rightWon).as("races the right side won").isPositive();
    }
}
