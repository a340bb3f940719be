package io.github.reactorratelimit.local;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.testing.Race;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Threads that debit keys whose cells overlap, while time stands still: no debit is ever lost. */
@Timeout(value = 20, unit = TimeUnit.MINUTES)
class SketchRaceTest {

    private static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");
    private static final int BATCHES = FULL ? 20_000 : 100;
    private static final int BATCH = 100;
    private static final int BURST = 4;
    private static final Gcra STANDING_STILL = new Gcra(1, Duration.ofHours(1), BURST);
    private static final Object NO_OWNER = new Object();

    /** Every race is one sketch in which each side asks three times. */
    @Test
    void keyThatNobodySharesWithGetsExactlyItsBurst() {
        long seed = Seeds.of("one key");
        try (Race race = new Race(BATCH, seed)) {
            SplittableRandom random = new SplittableRandom(seed);
            for (int batch = 0; batch < BATCHES; batch++) {
                List<SketchTable> sketches = sketches(random);
                AtomicIntegerArray allowed = new AtomicIntegerArray(BATCH);
                race.run(i -> askThrice(sketches.get(i), allowed, i), i -> askThrice(sketches.get(i), allowed, i));
                for (int i = 0; i < BATCH; i++) {
                    assertThat(allowed.get(i)).isEqualTo(BURST);
                }
            }
        }
    }

    private static List<SketchTable> sketches(SplittableRandom random) {
        List<SketchTable> sketches = new ArrayList<>();
        for (int i = 0; i < BATCH; i++) {
            sketches.add(SketchTable.of(STANDING_STILL, 2, 1 + random.nextInt(4)));
        }
        return sketches;
    }

    private static void askThrice(SketchTable sketch, AtomicIntegerArray allowed, int i) {
        for (int ask = 0; ask < 3; ask++) {
            if (sketch.take("key", 0, 1, null)) {
                allowed.incrementAndGet(i);
            }
        }
    }

    /**
     * Three keys, two to four columns: they share some cells and not others. What is out is counted after it was
     * taken and uncounted before it goes back, so it is never counted too high.
     */
    @Test
    void noKeyHasMoreThanItsBurstOutWhateverIsGivenBack() {
        long seed = Seeds.of("shared cells");
        SplittableRandom random = new SplittableRandom(seed);
        int keys = 3;
        try (Race race = new Race(BATCH, seed)) {
            for (int batch = 0; batch < BATCHES; batch++) {
                List<SketchTable> sketches = sketches(random);
                AtomicIntegerArray out = new AtomicIntegerArray(BATCH * keys);
                long left = random.nextLong();
                long right = random.nextLong();
                race.run(
                        i -> play(sketches.get(i), out, i * keys, left + i),
                        i -> play(sketches.get(i), out, i * keys, right + i));
                for (int i = 0; i < BATCH; i++) {
                    topUp(sketches.get(i), out, i * keys);
                }
            }
        }
    }

    private static void play(SketchTable sketch, AtomicIntegerArray out, int first, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        for (int step = 0; step < 6; step++) {
            int key = random.nextInt(3);
            int permits = 1 + random.nextInt(2);
            SketchTable.Mark mark = new SketchTable.Mark(NO_OWNER);
            if (sketch.take("key" + key, 0, permits, mark)) {
                assertThat(out.addAndGet(first + key, permits)).isLessThanOrEqualTo(BURST);
                if (random.nextBoolean()) {
                    out.addAndGet(first + key, -permits);
                    if (!sketch.giveBack(mark, 0, 0, permits)) {
                        out.addAndGet(first + key, permits);
                    }
                }
            }
        }
    }

    /** Whatever the race left must still hold each key to its burst. */
    private static void topUp(SketchTable sketch, AtomicIntegerArray out, int first) {
        for (int key = 0; key < 3; key++) {
            while (sketch.take("key" + key, 0, 1, null)) {
                assertThat(out.incrementAndGet(first + key)).isLessThanOrEqualTo(BURST);
            }
        }
    }
}
