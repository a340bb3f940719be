package io.github.reactorratelimit.local;

import static java.time.Duration.ofNanos;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.WarmUp;
import io.github.reactorratelimit.testing.Seeds;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * The worst case of a warm-up holds for each key of a table that is too small for them, with forgotten keys and late clock
 * readings: at most the full rate and one request, and after an idle time no more than the sixteen steps give.
 */
class CrowdedWarmUpTest {

    private static final int HISTORIES = Tables.FULL ? 100_000 : 1_500;
    private static final int STEPS = 150;
    private static final int KEYS = 6;

    private static final int PERIOD = 10;
    private static final int WARM_UP = 64;
    private static final WarmUp POLICY = WarmUp.of(5, ofNanos(PERIOD), ofNanos(WARM_UP));

    /** A permit costs 16 times the period, and a tick pays for 5 permits per step. */
    private static final long COST = 16 * PERIOD;

    /** A granted request: its reading of the clock, and the time at which it was made. */
    private record Grant(long reading, long now, long permits) {}

    @Test
    void everyKeyKeepsTheWorstCaseAndIsColdAfterAnIdleTime() {
        Random random = new Random(Seeds.of("crowded warm-up"));
        long afterIdle = 0;
        for (int i = 0; i < HISTORIES; i++) {
            for (List<Grant> grants : history(random)) {
                afterIdle += check(grants);
            }
        }
        assertThat(afterIdle).isGreaterThan(HISTORIES);
    }

    private static List<List<Grant>> history(Random random) {
        KeyTable table = Tables.of(POLICY, 1 + random.nextInt(3), 1 << random.nextInt(3));
        List<List<Grant>> grants = new ArrayList<>();
        for (int key = 0; key < KEYS; key++) {
            grants.add(new ArrayList<>());
        }
        long now = 0;
        for (int i = 0; i < STEPS; i++) {
            now += random.nextInt(60) == 0 ? random.nextInt(400) : random.nextInt(8);
            int key = random.nextInt(random.nextInt(KEYS) + 1);
            long reading = random.nextInt(4) == 0 ? Math.max(0, now - random.nextInt(30)) : now;
            long permits = 1 + random.nextInt(2);
            if (Tables.tryDebit(table, "key" + key, reading, permits) == 0) {
                grants.get(key).add(new Grant(reading, now, permits));
            }
        }
        return grants;
    }

    /** How many grants were compared with a cold key's. */
    private static long check(List<Grant> grants) {
        long compared = 0;
        for (int first = 0; first < grants.size(); first++) {
            boolean isCold =
                    first == 0 || grants.get(first).reading - grants.get(first - 1).now > 4 * (WARM_UP + 16 * PERIOD);
            long paid = 0;
            for (int last = first + 1; last < grants.size(); last++) {
                paid += grants.get(last - 1).permits * COST;
                long ticks = grants.get(last).now - grants.get(first).reading + 1;
                assertThat(paid).isLessThanOrEqualTo(isCold ? fromCold(ticks) : ticks * 16 * 5);
                compared += isCold ? 1 : 0;
            }
        }
        return compared;
    }

    private static long fromCold(long ticks) {
        long sum = 0;
        for (long tick = 0; tick < ticks; tick++) {
            sum += (Math.min(15, tick * 16 / WARM_UP) + 1) * 5;
        }
        return sum;
    }
}
