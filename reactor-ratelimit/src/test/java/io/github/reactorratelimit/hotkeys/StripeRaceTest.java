package io.github.reactorratelimit.hotkeys;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.testing.Race;
import io.github.reactorratelimit.testing.Seeds;
import java.util.List;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Two threads at one stripe. */
class StripeRaceTest {

    private static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");
    private static final int BATCHES = FULL ? 5_000 : 60;
    private static final int BATCH = 200;

    private static List<Stripe> stripes() {
        return Stream.generate(() -> new Stripe(8)).limit(BATCH).toList();
    }

    private static long counted(Stripe stripe) {
        long[] count = new long[1];
        stripe.submit(summary -> count[0] = Summary.heaviest(List.of(summary), 8, 0).stream()
                .mapToLong(HotKey::atLeast)
                .sum());
        return count[0];
    }

    @Test
    void whatIsAddedIsCountedOrRefused() {
        try (Race race = new Race(BATCH, Seeds.of("stripe"))) {
            for (int batch = 0; batch < BATCHES; batch++) {
                List<Stripe> stripes = stripes();
                AtomicIntegerArray added = new AtomicIntegerArray(BATCH);
                race.run(i -> addFive(stripes.get(i), added, i), i -> addFive(stripes.get(i), added, i));
                for (int i = 0; i < BATCH; i++) {
                    assertThat(counted(stripes.get(i))).isEqualTo(added.get(i));
                }
            }
        }
    }

    private static void addFive(Stripe stripe, AtomicIntegerArray added, int i) {
        for (int n = 0; n < 5; n++) {
            if (stripe.tryAdd(7L << 32, 1)) {
                added.incrementAndGet(i);
            }
        }
    }

    @Test
    void everyRequestIsServedOnceByWhoeverOwnsTheStripe() {
        try (Race race = new Race(BATCH, Seeds.of("requests of a stripe"))) {
            for (int batch = 0; batch < BATCHES; batch++) {
                List<Stripe> stripes = stripes();
                AtomicIntegerArray served = new AtomicIntegerArray(BATCH);
                AtomicIntegerArray added = new AtomicIntegerArray(BATCH);
                race.run(
                        i -> addFive(stripes.get(i), added, i),
                        i -> stripes.get(i).submit(summary -> served.incrementAndGet(i)));
                for (int i = 0; i < BATCH; i++) {
                    assertThat(served.get(i)).isEqualTo(1);
                }
            }
        }
    }
}
