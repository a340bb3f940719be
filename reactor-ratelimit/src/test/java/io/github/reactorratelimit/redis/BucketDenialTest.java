package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What is denied of a bucket without a call, because it is known how the wait grows with the cost. */
class BucketDenialTest {

    private static final long ORIGIN = -7_000_000_000L;
    private static final long MILLI = 1_000_000;

    private final DenialCache cache = new DenialCache(100);

    private static ScriptPolicy terms(long permits, Duration period, long burst) {
        return ScriptPolicy.of(new Gcra(permits, period, burst));
    }

    /** One permit in a millisecond, ten at most. */
    private static ScriptPolicy perMilli() {
        return terms(1_000, Duration.ofSeconds(1), 10);
    }

    private void learn(ScriptPolicy terms, long owedPermits, long sentNanos, long cameNanos) {
        learn(terms, cost(terms, owedPermits), true, cache.generation("k"), sentNanos, cameNanos);
    }

    private static BucketRate rate(ScriptPolicy terms) {
        return Objects.requireNonNull(terms.bucketRate());
    }

    private static long cost(ScriptPolicy terms, long permits) {
        return rate(terms).costParts(permits);
    }

    /** A reply to an acquire of one permit that left this much owed. */
    private void learn(
            ScriptPolicy terms, long owedParts, boolean denied, long generation, long sentNanos, long cameNanos) {
        CommandReply reply =
                rate(terms).reply(Command.acquire(1), terms, CommandReply.KeyStatus.plain(1), !denied, owedParts);
        cache.learn("k", reply, generation, sentNanos, cameNanos);
    }

    private @Nullable Decision find(ScriptPolicy terms, long permits, long nowNanos) {
        DenialCache.Known known = cache.known("k");
        return known == null ? null : cache.deny(known, "k", terms, permits, permits, nowNanos);
    }

    @Test
    void deniesUntilRedisCanHaveSoManyAndTellsWhenItHasThem() {
        ScriptPolicy terms = perMilli();
        learn(terms, 10, ORIGIN, ORIGIN + MILLI / 2);

        Decision denied = find(terms, 2, ORIGIN + MILLI);

        assertThat(denied.remaining()).isZero();
        assertThat(denied.retryAfter()).as("counted from the answer").contains(Duration.ofNanos(3 * MILLI / 2));
        assertThat(find(terms, 2, ORIGIN + 2 * MILLI - 3_000)).isNotNull();
        assertThat(find(terms, 2, ORIGIN + 2 * MILLI))
                .as("counted from the call")
                .isNull();
        assertThat(find(terms, 1, ORIGIN + MILLI)).isNull();
    }

    @Test
    void whoAskedBeforeIsAheadUntilItsAnswerComes() {
        ScriptPolicy terms = perMilli();
        learn(terms, 10, ORIGIN, ORIGIN);
        long later = ORIGIN + 2 * MILLI;

        DenialCache.Known claimed = cache.claim("k", terms, 1);
        assertThat(cache.claim("k", terms, 1)).isSameAs(claimed);
        Decision denied = find(terms, 1, later);

        assertThat(denied.retryAfter()).contains(Duration.ofMillis(1));
        claimed.release(1);
        assertThat(find(terms, 1, later)).isNull();
    }

    @Test
    void cheaperAskIsNotBehindADearerOneThatMayBeDenied() {
        ScriptPolicy terms = perMilli();
        learn(terms, 10, ORIGIN, ORIGIN);

        cache.claim("k", terms, 5);

        assertThat(find(terms, 1, ORIGIN + 2 * MILLI)).isNull();
        assertThat(find(terms, 5, ORIGIN + 2 * MILLI)).isNotNull();
    }

    @Test
    void grantAfterADenialTellsWhenThereIsMore() {
        ScriptPolicy terms = perMilli();
        learn(terms, 10, ORIGIN, ORIGIN);
        long later = ORIGIN + MILLI;
        learn(terms, cost(terms, 10), false, cache.generation("k"), later, later);

        assertThat(find(terms, 1, later).retryAfter()).contains(Duration.ofMillis(1));
        assertThat(find(terms, 3, later).retryAfter()).contains(Duration.ofMillis(3));
        assertThat(find(terms, 1, later + MILLI)).isNull();
    }

    @Test
    void grantAloneIsNotKept() {
        ScriptPolicy terms = perMilli();
        learn(terms, cost(terms, 10), false, cache.generation("k"), ORIGIN, ORIGIN);
        assertThat(cache.size()).isZero();
    }

    @Test
    void whatIsKnownIsForgottenAfterASecondAndByWhatChangesTheKey() {
        ScriptPolicy terms = terms(1, Duration.ofHours(1), 10);
        learn(terms, 10, ORIGIN, ORIGIN);
        assertThat(find(terms, 1, ORIGIN + DenialCache.KEEP_NANOS - 1)).isNotNull();
        assertThat(find(terms, 1, ORIGIN + DenialCache.KEEP_NANOS)).isNull();

        long before = cache.generation("k");
        learn(terms, 10, ORIGIN, ORIGIN);
        cache.forget("k");
        assertThat(find(terms, 1, ORIGIN)).isNull();
        learn(terms, cost(terms, 10), true, before, ORIGIN, ORIGIN);
        assertThat(find(terms, 1, ORIGIN)).as("of a call that was under way").isNull();
    }

    @Test
    void keyThatHasPlentyAgainIsNotKept() {
        ScriptPolicy terms = perMilli();
        learn(terms, 10, ORIGIN, ORIGIN);
        learn(terms, cost(terms, 8), false, cache.generation("k"), ORIGIN, ORIGIN);
        assertThat(cache.size()).isEqualTo(1);
        learn(terms, cost(terms, 2), false, cache.generation("k"), ORIGIN, ORIGIN);
        assertThat(cache.size()).isZero();
    }

    @Test
    void nobodyIsDeniedWhomRedisWouldAllowBehindThoseWhoAskedBefore() {
        long seed = Seeds.of("level");
        int denied = 0;
        int asked = 0;
        for (int i = 0; i < 50; i++) {
            Simulation simulation = new Simulation(seed + i);
            simulation.run();
            denied += simulation.denied;
            asked += simulation.asked;
        }
        assertThat(denied).isBetween(asked / 10, 9 * asked / 10);
    }

    /** A server, a wire that takes a microsecond at least, and another client of the server. */
    private final class Simulation {

        private record UnderWay(long permits, DenialCache.Known claim, long sentNanos, long generation, long[] times) {}

        private final SplittableRandom random;
        private final ScriptPolicy terms;
        private final Deque<UnderWay> unexecuted = new ArrayDeque<>();
        private final Deque<Long> deniedUnheard = new ArrayDeque<>();
        private final Deque<Runnable> answers = new ArrayDeque<>();
        private final Deque<Long> answerTimes = new ArrayDeque<>();
        private long now = ORIGIN;
        private long owed;
        private long owedAtTick;
        private int asked;
        private int denied;

        Simulation(long seed) {
            random = new SplittableRandom(seed);
            terms = terms(
                    1 + random.nextLong(5_000), Duration.ofMillis(1 + random.nextInt(500)), 5 + random.nextInt(50));
            owedAtTick = tick(now);
            cache.forget("k");
        }

        private long tick(long nanos) {
            return Math.floorDiv(nanos + 333, 1_000);
        }

        void run() {
            for (int i = 0; i < 2_000; i++) {
                now += random.nextLong(random.nextInt(10) == 0 ? 50_000 : 2_000);
                executeDue(now);
                while (!answerTimes.isEmpty() && answerTimes.peek() <= now) {
                    answerTimes.poll();
                    answers.poll().run();
                }
                if (random.nextInt(20) == 0) {
                    take(now, 1);
                }
                ask(1 + random.nextLong(3));
            }
        }

        private void ask(long permits) {
            asked++;
            if (find(terms, permits, now) != null) {
                denied++;
                assertThat(owedBehind() + cost(terms, permits))
                        .isGreaterThan(rate(terms).mostParts());
                return;
            }
            DenialCache.Known claim = cache.claim("k", terms, permits);
            long last = unexecuted.isEmpty() ? now : unexecuted.peekLast().times()[0];
            long runsAt = Math.max(last, now + 1_000 + random.nextLong(30_000));
            long[] times = {runsAt, Math.max(runsAt + random.nextLong(30_000), lastAnswer())};
            unexecuted.add(new UnderWay(permits, claim, now, cache.generation("k"), times));
        }

        /** If those who were denied and do not know it yet, and those who are on their way, were decided now. */
        private long owedBehind() {
            long behind = owedAt(now);
            List<Long> ahead = new ArrayList<>(deniedUnheard);
            unexecuted.forEach(call -> ahead.add(call.permits()));
            for (long permits : ahead) {
                behind += behind + cost(terms, permits) <= rate(terms).mostParts() ? cost(terms, permits) : 0;
            }
            return behind;
        }

        private long lastAnswer() {
            long last = answerTimes.isEmpty() ? now : answerTimes.peekLast();
            return unexecuted.isEmpty()
                    ? last
                    : Math.max(last, unexecuted.peekLast().times()[1]);
        }

        private void executeDue(long until) {
            while (!unexecuted.isEmpty() && unexecuted.peek().times()[0] <= until) {
                UnderWay call = unexecuted.poll();
                boolean allowed = take(call.times()[0], call.permits());
                if (!allowed) {
                    deniedUnheard.add(call.permits());
                }
                long owedThen = owed;
                long came = call.times()[1];
                answerTimes.add(came);
                answers.add(() -> settle(call, !allowed, owedThen, came));
            }
        }

        private void settle(UnderWay call, boolean wasDenied, long owedThen, long came) {
            if (wasDenied) {
                deniedUnheard.poll();
            }
            if (call.claim() != null) {
                call.claim().release(call.permits());
            }
            learn(terms, owedThen, wasDenied, call.generation(), call.sentNanos(), came);
        }

        private long owedAt(long nanos) {
            return Math.max(0, owed - (tick(nanos) - owedAtTick) * rate(terms).partsPerTick());
        }

        private boolean take(long nanos, long permits) {
            long owedNow = owedAt(nanos);
            boolean allowed = owedNow + cost(terms, permits) <= rate(terms).mostParts();
            owed = owedNow + (allowed ? cost(terms, permits) : 0);
            owedAtTick = tick(nanos);
            return allowed;
        }
    }
}
