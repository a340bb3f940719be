package io.github.reactorratelimit.algorithm;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.algorithm.Algorithms.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class AlgorithmsTest {

    private static final Clock LOCAL = new Clock(Tick.NANOSECOND, 0, 0);
    private static final Clock EPOCH_MICROS = new Clock(Tick.MICROSECOND, 0, 0);
    private static final long SECOND = 1_000_000_000;

    /** One key that asks an algorithm. */
    private static final class Key<S> {
        final Algorithm<S> algorithm;
        S state;

        Key(Algorithm<S> algorithm) {
            this.algorithm = algorithm;
            this.state = algorithm.fresh();
        }

        /** The wait; 0 means that the permits were taken. */
        long ask(long now, long permits) {
            long wait = algorithm.waitTicks(state, now, permits);
            if (wait == 0) {
                state = algorithm.debit(state, now, permits);
            }
            return wait;
        }

        long remaining(long now) {
            return algorithm.remaining(state, now);
        }
    }

    private static Key<?> key(RateLimitPolicy policy, Clock clock) {
        return new Key<>(Algorithms.of(policy, clock));
    }

    @Test
    void statesThatFitIntoALongDo() {
        assertThat(packs(TokenBucket.perSecond(100))).isTrue();
        assertThat(packs(Gcra.of(7, Duration.ofSeconds(3)))).isTrue();
        assertThat(packs(LeakyBucket.perSecond(64))).isTrue();
        assertThat(packs(FixedWindow.of(1_000_000, Duration.ofSeconds(1)))).isTrue();
        assertThat(packs(ConcurrencyLimit.of(5))).isTrue();

        assertThat(packs(Gcra.perSecond(67))).as("67 parts a tick").isFalse();
        assertThat(packs(TokenBucket.perSecond(5).stepwise())).isFalse();
        assertThat(packs(FixedWindow.of(1_000_000, Duration.ofNanos(999_999)))).isFalse();
        assertThat(packs(FixedWindow.of(5, Duration.ofSeconds(1)).fromFirstRequest()))
                .isFalse();
        assertThat(packs(FixedWindow.daily(5, ZoneId.of("UTC")))).isFalse();
        assertThat(packs(SlidingWindowLog.of(5, Duration.ofSeconds(1)))).isFalse();
        assertThat(packs(SlidingWindowCounter.of(5, Duration.ofSeconds(1)))).isFalse();
        assertThat(packs(Policies.all(Gcra.perSecond(1), Gcra.perMinute(5)))).isFalse();
    }

    private static boolean packs(RateLimitPolicy policy) {
        return Algorithms.asLong(policy, LOCAL)
                .filter(packed -> packed.fresh() != LongAlgorithm.RESERVED)
                .isPresent();
    }

    @Test
    void hugeCapacityIsCountedCoarselyEnoughToFitIntoALong() {
        RateLimitPolicy policy = new TokenBucket(1L << 40, 999_983, Duration.ofSeconds(1));
        assertThat(packs(policy)).isTrue();
    }

    @Test
    void packedTimeNeverFallsOnTheReservedMark() {
        LongAlgorithm packed =
                Algorithms.asLong(Gcra.of(1, Duration.ofNanos(1)), LOCAL).orElseThrow();
        for (long now = Long.MAX_VALUE; now != Long.MIN_VALUE + 5; now++) {
            long state = packed.debit(packed.fresh(), now, 1);
            assertThat(state).isNotIn(LongAlgorithm.RESERVED, packed.fresh());
            assertThat(packed.remaining(state, now)).isZero();
        }
    }

    @Test
    void initialTokensRefillFromTheStartOfTheLimiter() {
        TokenBucket policy = TokenBucket.perSecond(10).withInitialTokens(2);
        Clock clock = new Clock(Tick.NANOSECOND, 0, 5 * SECOND);
        assertThat(key(policy, clock).remaining(5 * SECOND)).isEqualTo(2);
        assertThat(key(policy, clock).remaining(5 * SECOND + SECOND / 2)).isEqualTo(7);
        assertThat(key(policy, clock).remaining(7 * SECOND)).isEqualTo(10);
    }

    @Test
    void leakyBucketLeavesSlotBySlotWithoutLosingFractions() {
        Key<?> key = key(LeakyBucket.perSecond(3), LOCAL);
        List<Long> departures = new ArrayList<>();
        long now = 0;
        for (int i = 0; i < 7; i++) {
            now += Math.max(0, key.algorithm.waitTicks(cast(key), now, 1));
            assertThat(key.ask(now, 1)).isZero();
            departures.add(now);
        }
        assertThat(departures)
                .containsExactly(0L, 333_333_333L, 666_666_666L, SECOND, 1_333_333_333L, 1_666_666_666L, 2 * SECOND);
    }

    @SuppressWarnings("unchecked")
    private static <S> S cast(Key<?> key) {
        return (S) key.state;
    }

    @Test
    void leakyBucketRequestOfSeveralPermitsLeavesNowAndDelaysTheNext() {
        Key<?> key = key(LeakyBucket.perSecond(10).withQueue(5), LOCAL);
        assertThat(key.ask(0, 5)).isZero();
        assertThat(key.ask(0, 1)).isEqualTo(SECOND / 2);
        assertThat(key.remaining(SECOND / 2 - 1)).isZero();
        assertThat(key.remaining(SECOND / 2)).isEqualTo(5);
    }

    @Test
    void leakyBucketWaitAskedForAnEarlierTimeEndsWhenTheSlotDoes() {
        LeakyBucket policy = LeakyBucket.perSecond(10).withQueue(5);
        Key<?> key = key(policy, LOCAL);
        Key<?> packed = new Key<>(Algorithms.asLong(policy, LOCAL).orElseThrow());
        for (Key<?> each : List.of(key, packed)) {
            assertThat(each.ask(0, 5)).isZero();
            assertThat(each.ask(SECOND / 2, 4)).isZero();
            assertThat(each.ask(0, 1)).isEqualTo(SECOND / 2 + 4 * SECOND / 10);
        }
    }

    @Test
    void stepwiseBucketRefillsAtOnceAPeriodAfterItsFirstDebit() {
        Key<?> key = key(TokenBucket.of(2, Duration.ofNanos(100)).withBurst(5).stepwise(), LOCAL);
        assertThat(key.ask(30, 5)).isZero();
        assertThat(key.remaining(129)).isZero();
        assertThat(key.remaining(130)).isEqualTo(2);
        assertThat(key.remaining(230)).isEqualTo(4);
        assertThat(key.ask(140, 5)).isEqualTo(190);
        assertThat(key.remaining(330)).isEqualTo(5);
        assertThat(key.ask(350, 1)).as("full: a new grid starts here").isZero();
        assertThat(key.remaining(430)).isEqualTo(4);
        assertThat(key.remaining(450)).isEqualTo(5);
    }

    @Test
    void dayWithAClockChangeIsAsLongAsItsZoneMakesIt() {
        FixedWindow policy = FixedWindow.daily(1, ZoneId.of("Europe/Berlin"));
        assertThat(waitAfterOne(policy, "2024-03-30T23:00:00Z")).isEqualTo(Duration.ofHours(23));
        assertThat(waitAfterOne(policy, "2024-10-26T22:00:00Z")).isEqualTo(Duration.ofHours(25));
        assertThat(waitAfterOne(policy, "2024-06-01T21:59:59.999999Z")).isEqualTo(Duration.ofNanos(1_000));
    }

    @Test
    void monthEndsWithItsLastDay() {
        FixedWindow policy = FixedWindow.monthly(1, ZoneId.of("Asia/Tokyo"));
        assertThat(waitAfterOne(policy, "2024-01-31T15:00:00Z")).isEqualTo(Duration.ofDays(29));
        assertThat(waitAfterOne(policy, "2023-02-28T14:59:59Z")).isEqualTo(Duration.ofSeconds(1));
    }

    @Test
    void midnightThatDoesNotExistIsTheFirstMomentOfTheDay() {
        FixedWindow policy = FixedWindow.daily(1, ZoneId.of("America/Sao_Paulo"));
        assertThat(waitAfterOne(policy, "2018-11-04T02:59:59Z")).isEqualTo(Duration.ofSeconds(1));
        assertThat(waitAfterOne(policy, "2018-11-04T03:00:00Z")).isEqualTo(Duration.ofHours(23));
    }

    @Test
    void dayThatStartedTwiceStartsTheFirstTime() {
        // At 00:01 the clocks of St. John's went back to 23:01 of the day before.
        Key<?> key = key(FixedWindow.daily(1, ZoneId.of("America/St_Johns")), EPOCH_MICROS);
        long firstMidnight = micros("2006-10-29T02:30:00Z");
        assertThat(key.ask(firstMidnight, 1)).isZero();
        long yesterdayAgain = micros("2006-10-29T03:00:00Z");
        assertThat(key.ask(yesterdayAgain, 1)).isEqualTo(micros("2006-10-30T03:30:00Z") - yesterdayAgain);
        Key<?> other = key(FixedWindow.daily(1, ZoneId.of("America/St_Johns")), EPOCH_MICROS);
        assertThat(other.ask(yesterdayAgain, 1)).isZero();
        assertThat(other.ask(yesterdayAgain, 1)).isEqualTo(micros("2006-10-30T03:30:00Z") - yesterdayAgain);
    }

    @Test
    void dayThatWasSkippedEndsWhenTheNextBegins() {
        FixedWindow policy = FixedWindow.daily(1, ZoneId.of("Pacific/Apia"));
        assertThat(waitAfterOne(policy, "2011-12-29T10:00:00Z")).isEqualTo(Duration.ofHours(24));
    }

    private static Duration waitAfterOne(FixedWindow policy, String instant) {
        Key<?> key = key(policy, EPOCH_MICROS);
        assertThat(key.ask(micros(instant), 1)).isZero();
        return Duration.ofNanos(1_000 * key.ask(micros(instant), 1));
    }

    private static long micros(String instant) {
        return Duration.between(Instant.EPOCH, Instant.parse(instant)).toNanos() / 1_000;
    }

    @Test
    void windowIsAlignedToTheEpochWhereverTheClockStarts() {
        Clock clock = new Clock(Tick.NANOSECOND, 1_758_000_000_123_456_789L, 0);
        Key<?> key = key(FixedWindow.of(1, Duration.ofSeconds(1)), clock);
        assertThat(key.ask(0, 1)).isZero();
        assertThat(key.ask(0, 1)).isEqualTo(SECOND - 123_456_789);
    }

    @Test
    void counterWaitReachesIntoTheNextWindow() {
        Key<?> key = key(SlidingWindowCounter.of(4, Duration.ofNanos(1_000)), LOCAL);
        assertThat(key.ask(900, 4)).isZero();
        assertThat(key.ask(900, 1))
                .as("the previous window must weigh less than 4 permits")
                .isEqualTo(101);
        assertThat(key.ask(900, 4)).as("less than 1 permit").isEqualTo(851);
    }

    @Test
    void compositeReadsThePartThatWaitsLongestOrHasLeastLeft() {
        TokenBucket fast = TokenBucket.perSecond(5);
        FixedWindow daily = FixedWindow.of(7, Duration.ofDays(1));
        Key<?> key = key(Policies.all(fast, daily), LOCAL);
        assertThat(key.ask(0, 3)).isZero();
        assertThat(read(key, 0, 0).policy()).isEqualTo(fast);
        assertThat(read(key, 0, 0).remaining()).isEqualTo(2);
        assertThat(read(key, 0, 3).policy()).isEqualTo(fast);
        assertThat(key.ask(SECOND, 3)).isZero();
        Reading denied = read(key, 2 * SECOND, 2);
        assertThat(denied.policy()).isEqualTo(daily);
        assertThat(denied.remaining()).isEqualTo(1);
        assertThat(denied.waitTicks()).isEqualTo(86_398 * SECOND);
        assertThat(denied.resetTicks()).isEqualTo(86_398 * SECOND);
        assertThat(read(key, 0, 0).resetTicks())
                .as("of the part that does not bind")
                .isEqualTo(86_400 * SECOND);
        assertThat(denied.allowed()).isFalse();
    }

    private static <S> Reading read(Key<S> key, long now, long permits) {
        return key.algorithm.read(key.state, now, permits);
    }

    @Test
    void compositeDenialDebitsNoPart() {
        Key<?> key = key(Policies.all(Gcra.perSecond(5), FixedWindow.of(3, Duration.ofDays(1))), LOCAL);
        assertThat(key.ask(0, 3)).isZero();
        assertThat(key.ask(0, 1)).isPositive();
        assertThat(read(key, 0, 0).remaining()).isZero();
        assertThat(key.ask(86_400 * SECOND, 3)).isZero();
    }

    @Test
    void everyPolicyHasTheLimitItIsFullWith() {
        assertThat(Algorithms.of(TokenBucket.perSecond(3).withBurst(7), LOCAL).capacity())
                .isEqualTo(7);
        assertThat(Algorithms.of(LeakyBucket.perSecond(3).withQueue(9), LOCAL).capacity())
                .isEqualTo(9);
        assertThat(Algorithms.of(Policies.all(Gcra.perSecond(4), Gcra.perMinute(3)), LOCAL)
                        .capacity())
                .isEqualTo(3);
    }
}
