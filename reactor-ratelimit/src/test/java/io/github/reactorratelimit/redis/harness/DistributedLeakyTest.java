package io.github.reactorratelimit.redis.harness;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.testing.ChildJvm;
import io.github.reactorratelimit.testing.Seeds;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** One leaky bucket, several processes, waiters who leave: slots keep their distance, and none is wasted. */
@ExtendWith(RedisExtension.class)
class DistributedLeakyTest {

    private static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");

    /** A round trip on a busy machine: who came later could not have got the slot. */
    private static final long REACH_MICROS = 2_000;

    @Test
    void slotsKeepTheirDistanceAndAreUsedWhileSomebodyWaits(Standalone redis) {
        int processes = FULL ? 3 : 2;
        Duration duration = Duration.ofSeconds(FULL ? 60 : 3);
        long seed = Seeds.of("distributed leaky bucket");
        LeakyWaits waits = LeakyWaits.of(ChildJvm.runAll(
                processes,
                LeakyChild.class,
                List.of(
                        redis.uri().toURI().toString(),
                        "leaky-" + UUID.randomUUID(),
                        Integer.toString(processes),
                        duration.toString(),
                        Long.toString(seed)),
                duration.plusSeconds(90)));

        long[] slots = waits.slots();
        LeakyWaits.Slots count = waits.count(LeakyChild.POLICY, REACH_MICROS);
        double wasted = count.wasted() / (count.used() + count.wasted());
        System.out.printf(
                "%nleaky bucket: %d processes, %s: %d slots used, %d left before their turn; unused while somebody waits:"
                        + " %.1f (%.2f%%); freed by a process with no waiter left and no new arrival: %.1f; nobody waiting:"
                        + " %.1f%n",
                processes,
                duration,
                slots.length,
                waits.left(),
                count.wasted(),
                100 * wasted,
                count.stranded(),
                count.idle());
        assertThat(waits.hung()).isZero();
        assertThat(waits.left()).isPositive();
        assertThat(Sweep.used(LeakyChild.POLICY, slots)).as("closest slots").isLessThanOrEqualTo(1);
        assertThat(Conformance.firstOverAdmission(LeakyChild.POLICY, slots))
                .as("slot too early")
                .isEmpty();
        if (FULL) {
            assertThat(wasted).as("slots unused while somebody waits").isLessThanOrEqualTo(0.01);
        }
    }
}
