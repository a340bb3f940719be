package io.github.reactorratelimit.local;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.Tick;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Random histories through tiny sketches, beside the policy applied to each key alone. */
class SketchTableTest {

    private static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");
    private static final int HISTORIES = FULL ? 100_000 : 1_000;
    private static final int STEPS = 100;
    private static final Algorithms.Clock CLOCK = new Algorithms.Clock(Tick.NANOSECOND, 0, 0);
    private static final Object NO_OWNER = new Object();

    static Stream<RateLimitPolicy> policies() {
        return Stream.of(
                new Gcra(1, Duration.ofNanos(10), 5),
                new Gcra(3, Duration.ofNanos(40), 4),
                new TokenBucket(7, 2, Duration.ofNanos(15)),
                TokenBucket.of(5, Duration.ofNanos(100)).withInitialTokens(2));
    }

    private record Taken(SketchTable.Mark mark, long at, long permits) {}

    /** One key's debits, by the algorithm of its policy alone. */
    private static final class Alone<S> {

        private final Algorithm<S> algorithm;
        private S state;
        final Deque<Taken> taken = new ArrayDeque<>();

        Alone(Algorithm<S> algorithm) {
            this.algorithm = algorithm;
            this.state = algorithm.fresh();
        }

        long waitTicks(long at, long permits) {
            return algorithm.waitTicks(state, at, permits);
        }

        void debit(Taken debit) {
            state = algorithm.debit(state, debit.at, debit.permits);
            taken.push(debit);
        }

        void refund(Taken debit, long now) {
            state = algorithm.refund(state, now, debit.at, debit.permits);
        }
    }

    @ParameterizedTest
    @MethodSource("policies")
    void keyIsNeverAllowedWhatItsPolicyAloneWouldDeny(RateLimitPolicy policy) {
        Random random = new Random(Seeds.of("never laxer, " + policy));
        long[] stricterOfAllowed = new long[2];
        long[] givenBackOfRefunds = new long[2];
        for (int i = 0; i < HISTORIES; i++) {
            int rows = 1 + random.nextInt(4);
            SketchTable cells = SketchTable.of(policy, 1 + random.nextInt(4), rows);
            List<Alone<?>> keys = Stream.generate(() -> new Alone<>(Algorithms.of(policy, CLOCK)))
                    .<Alone<?>>map(alone -> alone)
                    .limit(6)
                    .toList();
            long now = 0;
            for (int step = 0; step < STEPS; step++) {
                now += random.nextInt(3) == 0 ? random.nextInt(30) : 0;
                int key = random.nextInt(keys.size());
                if (random.nextInt(4) == 0) {
                    refund(cells, keys.get(key), now, random, givenBackOfRefunds);
                } else {
                    long at = random.nextInt(4) == 0 ? Math.max(0, now - random.nextInt(20)) : now;
                    ask(cells, "key" + key, keys.get(key), at, 1 + random.nextInt(3), stricterOfAllowed);
                }
            }
        }
        System.out.printf(
                "%d allowed, %d denied for others' debits; %d of %d refunds gave back%n",
                stricterOfAllowed[1], stricterOfAllowed[0], givenBackOfRefunds[0], givenBackOfRefunds[1]);
        assertThat(stricterOfAllowed[0]).isPositive();
        assertThat(givenBackOfRefunds[0]).isPositive().isLessThan(givenBackOfRefunds[1]);
    }

    private static void ask(
            SketchTable cells, String key, Alone<?> alone, long at, long permits, long[] stricterOfAllowed) {
        SketchTable.Mark mark = new SketchTable.Mark(NO_OWNER);
        long wait = alone.waitTicks(at, permits);
        if (cells.take(key, at, permits, mark)) {
            assertThat(wait).as("%d permits for %s at %d", permits, key, at).isZero();
            alone.debit(new Taken(mark, at, permits));
            stricterOfAllowed[1]++;
        } else if (wait == 0) {
            stricterOfAllowed[0]++;
        }
    }

    private static void refund(SketchTable cells, Alone<?> alone, long now, Random random, long[] givenBackOfRefunds) {
        if (alone.taken.isEmpty()) {
            return;
        }
        List<Taken> taken = new ArrayList<>(alone.taken);
        Taken debit = random.nextBoolean() ? taken.get(0) : taken.get(random.nextInt(taken.size()));
        alone.taken.remove(debit);
        givenBackOfRefunds[1]++;
        if (cells.giveBack(debit.mark, now, debit.at, debit.permits)) {
            alone.refund(debit, now);
            givenBackOfRefunds[0]++;
        }
    }

    @ParameterizedTest
    @MethodSource("policies")
    void keyAloneIsLimitedExactlyAsByItsPolicy(RateLimitPolicy policy) {
        Random random = new Random(Seeds.of("alone, " + policy));
        for (int i = 0; i < HISTORIES; i++) {
            SketchTable cells = SketchTable.of(policy, 1 + random.nextInt(4), 1 + random.nextInt(4));
            Alone<?> alone = new Alone<>(Algorithms.of(policy, CLOCK));
            long now = 0;
            for (int step = 0; step < STEPS; step++) {
                now += random.nextInt(3) == 0 ? random.nextInt(30) : 0;
                if (random.nextInt(5) == 0 && !alone.taken.isEmpty()) {
                    Taken last = alone.taken.pop();
                    // Only the last debit can come back, and only while no later one, given back or not, came after.
                    if (cells.giveBack(last.mark, now, last.at, last.permits)) {
                        alone.refund(last, now);
                    }
                } else {
                    long permits = 1 + random.nextInt(4);
                    long wait = alone.waitTicks(now, permits);
                    assertThat(cells.waitTicks("key", now, permits)).isEqualTo(wait);
                    SketchTable.Mark mark = new SketchTable.Mark(NO_OWNER);
                    assertThat(cells.take("key", now, permits, mark)).isEqualTo(wait == 0);
                    if (wait == 0) {
                        alone.debit(new Taken(mark, now, permits));
                    }
                }
            }
        }
    }

    /** The cell was above what the second key's debit leaves already; it counts on it all the same. */
    @Test
    void refundIsLostIfAnotherKeyCountsOnTheCell() {
        SketchTable cells = SketchTable.of(new Gcra(1, Duration.ofNanos(10), 5), 1, 1);
        SketchTable.Mark first = new SketchTable.Mark(NO_OWNER);
        assertThat(cells.take("a", 0, 3, first)).isTrue();
        assertThat(cells.take("b", 0, 1, null)).isTrue();
        assertThat(cells.giveBack(first, 0, 0, 3)).isFalse();
        assertThat(cells.take("b", 0, 2, null)).isFalse();
    }

    /** 999 per second is an interval of a thousandth of a nanosecond's fraction: rounded, but to the strict side. */
    @Test
    void rateTooFineForALongIsKeptToOneInAThousand() {
        RateLimitPolicy policy = TokenBucket.perSecond(999).withBurst(1);
        SketchTable cells = SketchTable.of(policy, 16, 4);
        Algorithm<?> exact = Algorithms.of(policy, CLOCK);
        assertThat(Algorithms.asLong(policy, CLOCK)).isEmpty();
        Alone<?> alone = new Alone<>(exact);
        long now = 0;
        for (int i = 0; i < 999; i++) {
            assertThat(alone.waitTicks(now, 1)).isZero();
            SketchTable.Mark mark = new SketchTable.Mark(NO_OWNER);
            assertThat(cells.take("key", now, 1, mark)).isTrue();
            alone.debit(new Taken(mark, now, 1));
            now += cells.waitTicks("key", now, 1);
        }
        assertThat(now).isBetween(1_000_000_000L, 1_001_000_000L);
    }
}
