package io.github.reactorratelimit.local;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.testing.Race;
import io.github.reactorratelimit.testing.Seeds;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntConsumer;

/** Races of two threads on tables that each have one round after the other, many tables in each batch of races. */
final class TableRaces {

    private static final int LANES = 200;
    private static final int ROUNDS = Tables.FULL ? 5_000 : 25;

    private final Lane[] lanes = new Lane[LANES];

    /** What is done in a round of a lane. */
    interface Step {
        void run(Lane lane, int round);
    }

    /** A table, and what the two threads count. */
    static final class Lane {

        final KeyTable table;
        final AtomicInteger granted = new AtomicInteger();
        final AtomicInteger held = new AtomicInteger();
        final AtomicInteger most = new AtomicInteger();

        Lane(KeyTable table) {
            this.table = table;
        }
    }

    TableRaces(RateLimitPolicy policy, int maxKeys) {
        for (int i = 0; i < LANES; i++) {
            lanes[i] = new Lane(Tables.of(policy, maxKeys, 1 << 16));
        }
    }

    /** Done once in each lane, before or after all its rounds; gets their number. */
    void each(Step step) {
        for (Lane lane : lanes) {
            step.run(lane, ROUNDS);
        }
    }

    /** @param after runs when both are done with a round, before the next */
    void run(Step left, Step right, Step after) {
        try (Race race = new Race(LANES, Seeds.of("table races"))) {
            for (int round = 0; round < ROUNDS; round++) {
                race.run(in(round, left), in(round, right));
                for (Lane lane : lanes) {
                    after.run(lane, round);
                }
            }
        }
    }

    private IntConsumer in(int round, Step step) {
        return i -> step.run(lanes[i], round);
    }
}
