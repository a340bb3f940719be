package io.github.reactorratelimit.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Seeds;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import reactor.test.scheduler.VirtualTimeScheduler;

class ReplayTest {

    private static List<Arrival> atMillis(long... times) {
        return LongStream.of(times)
                .mapToObj(millis -> Arrival.at(Duration.ofMillis(millis)))
                .toList();
    }

    private static List<Long> departuresMillis(ReplayResult result) {
        return result.events().stream()
                .map(event -> event.departure().map(Duration::toMillis).orElse(-1L))
                .toList();
    }

    @Test
    void rejectingDeniesWhatDoesNotPassAtOnceAndTellsWhenItWould() {
        ReplayResult result = Replay.of(TokenBucket.perSecond(10).withBurst(2)).run(atMillis(0, 0, 40, 100, 150));
        assertThat(departuresMillis(result)).containsExactly(0L, 0L, -1L, 100L, -1L);
        assertThat(result.events().get(0).decision().remaining()).isEqualTo(1);
        assertThat(result.events().get(0).decision().debit()).isEmpty();
        assertThat(result.events().get(2).decision().retryAfter()).contains(Duration.ofMillis(60));
        assertThat(result.events().get(4).decision().retryAfter()).contains(Duration.ofMillis(50));
        assertThat(result.summary()).isEqualTo(new ReplaySummary(3, 2, 0, Duration.ZERO, Duration.ZERO, Duration.ZERO));
    }

    @Test
    void delayingLetsEveryoneLeaveInOrder() {
        ReplayResult result =
                Replay.of(TokenBucket.perSecond(10).withBurst(2)).delaying().run(atMillis(0, 0, 0, 0, 250, 1_000));
        assertThat(departuresMillis(result)).containsExactly(0L, 0L, 100L, 200L, 300L, 1_000L);
        assertThat(result.summary().delayed()).isEqualTo(3);
        assertThat(result.summary().longestDelay()).isEqualTo(Duration.ofMillis(200));
    }

    @Test
    void leakyBucketInACompositeHasTheQueueThatALimiterGivesIt() {
        RateLimitPolicy policy = Policies.all(LeakyBucket.perSecond(10).withQueue(5), TokenBucket.perSecond(1_000));
        ReplayResult result = Replay.of(policy).delaying().run(atMillis(0, 0, 0, 0, 0, 0, 0, 0, 0));
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        RateLimiter limiter = RateLimiter.builder(policy).scheduler(time).build();
        List<Long> departures = new ArrayList<>(Collections.nCopies(9, -1L));
        for (int i = 0; i < 9; i++) {
            int index = i;
            limiter.acquire("k")
                    .filter(Decision::allowed)
                    .subscribe(decision -> departures.set(index, time.now(TimeUnit.MILLISECONDS)));
        }
        time.advanceTimeBy(Duration.ofSeconds(10));
        assertThat(departures)
                .isEqualTo(departuresMillis(result))
                .containsExactly(0L, 100L, 200L, 300L, 400L, 500L, -1L, -1L, -1L);
    }

    @Test
    void smallRequestDoesNotOvertakeTheLargeOneBeforeIt() {
        Duration now = Duration.ZERO;
        List<Arrival> arrivals = List.of(new Arrival(now, "a", 4), new Arrival(now, "a", 5), new Arrival(now, "a", 1));
        ReplayResult result = Replay.of(TokenBucket.perSecond(5)).delaying().run(arrivals);
        assertThat(departuresMillis(result)).containsExactly(0L, 800L, 1_000L);
    }

    @Test
    void whoWouldWaitTooLongIsDeniedAndCostsNothing() {
        ReplayResult result = Replay.of(Gcra.perSecond(10).withBurst(1))
                .delaying(Duration.ofMillis(200))
                .run(atMillis(0, 0, 0, 0, 0, 100));
        assertThat(departuresMillis(result)).containsExactly(0L, 100L, 200L, -1L, -1L, 300L);
        ReplayEvent denied = result.events().get(3);
        assertThat(denied.decision().retryAfter()).contains(Duration.ofMillis(300));
        assertThat(denied.decision().remaining()).isZero();
        assertThat(denied.delay()).isZero();
    }

    @Test
    void fullLineOfALeakyBucketDeniesUntilSomeoneHasLeft() {
        LeakyBucket policy = LeakyBucket.perSecond(10).withQueue(2);
        ReplayResult result = Replay.of(policy).delaying().run(atMillis(0, 0, 0, 0, 99, 100, 100));
        assertThat(departuresMillis(result)).containsExactly(0L, 100L, 200L, -1L, -1L, 300L, -1L);
    }

    @Test
    void lineOfALeakyPartBoundsTheComposite() {
        RateLimitPolicy policy =
                Policies.all(LeakyBucket.perSecond(10).withQueue(1), FixedWindow.of(100, Duration.ofSeconds(1)));
        assertThat(departuresMillis(Replay.of(policy).delaying().run(atMillis(0, 0, 0))))
                .containsExactly(0L, 100L, -1L);
    }

    @Test
    void keysDoNotShareAndDenialNamesTheBindingPolicy() {
        FixedWindow perDay = FixedWindow.of(1, Duration.ofDays(1));
        Replay replay = Replay.of(Policies.all(Gcra.perSecond(5), perDay));
        List<Arrival> arrivals = List.of(
                Arrival.at(Duration.ZERO, "alice"), Arrival.at(Duration.ZERO, "bob"), Arrival.at(Duration.ZERO, "bob"));
        ReplayResult result = replay.run(arrivals);
        assertThat(result.events()).extracting(ReplayEvent::allowed).containsExactly(true, true, false);
        assertThat(result.events().get(2).decision().policy()).isEqualTo(perDay);
    }

    @Test
    void windowsFollowTheDateOfTheLog() {
        Replay replay =
                Replay.of(FixedWindow.daily(1, ZoneId.of("UTC"))).startingAt(Instant.parse("2024-05-05T23:59:59.990Z"));
        assertThat(departuresMillis(replay.run(atMillis(0, 9, 10)))).containsExactly(0L, -1L, 10L);
    }

    @Test
    void askingForMoreThanTheCapacityIsDeniedForGood() {
        ReplayResult result =
                Replay.of(TokenBucket.perSecond(5)).delaying().run(List.of(new Arrival(Duration.ZERO, "a", 6)));
        assertThat(result.events().get(0).allowed()).isFalse();
        assertThat(result.events().get(0).decision().retryAfter()).isEmpty();
        assertThat(result.events().get(0).decision().remaining()).isEqualTo(5);
    }

    /** Element i leaves at max(its arrival, the departure before it, when the bucket has its tokens). */
    @Test
    void departuresFollowTheShapingRule() {
        long seed = Seeds.of("shaping rule");
        for (int i = 0; i < 1_000; i++) {
            SplittableRandom random = new SplittableRandom(seed + i);
            long capacity = 1 + random.nextInt(9);
            long refill = 1 + random.nextInt(9);
            long period = 100_000 + random.nextLong(1_000_000_000);
            List<Arrival> arrivals = new ArrayList<>();
            long now = 0;
            for (int j = 0; j < 60; j++) {
                now += random.nextLong(2 * period / refill);
                arrivals.add(new Arrival(Duration.ofNanos(now), "a", 1 + random.nextLong(capacity)));
            }
            TokenBucket policy = new TokenBucket(capacity, refill, Duration.ofNanos(period));
            List<Long> departures = Replay.of(policy).delaying().run(arrivals).events().stream()
                    .map(event -> event.departure().orElseThrow().toNanos())
                    .toList();
            assertThat(departures).as("seed %s", seed + i).isEqualTo(shaped(capacity, refill, period, arrivals));
        }
    }

    private static List<Long> shaped(long capacity, long refill, long period, List<Arrival> arrivals) {
        List<Long> departures = new ArrayList<>();
        BigInteger full = BigInteger.valueOf(capacity).multiply(BigInteger.valueOf(period));
        BigInteger tokensTimesPeriod = full;
        long time = 0;
        for (Arrival arrival : arrivals) {
            long from = Math.max(arrival.at().toNanos(), time);
            BigInteger there = tokensTimesPeriod
                    .add(BigInteger.valueOf(from - time).multiply(BigInteger.valueOf(refill)))
                    .min(full);
            BigInteger cost = BigInteger.valueOf(arrival.permits()).multiply(BigInteger.valueOf(period));
            BigInteger missing = cost.subtract(there).max(BigInteger.ZERO);
            long wait = missing.add(BigInteger.valueOf(refill - 1))
                    .divide(BigInteger.valueOf(refill))
                    .longValueExact();
            tokensTimesPeriod = there.add(BigInteger.valueOf(wait).multiply(BigInteger.valueOf(refill)))
                    .min(full)
                    .subtract(cost);
            time = from + wait;
            departures.add(time);
        }
        return departures;
    }

    @Test
    void endlessLogIsReplayedAsItComes() {
        Stream<Arrival> endless =
                Stream.iterate(0L, millis -> millis + 50).map(millis -> Arrival.at(Duration.ofMillis(millis)));
        List<Boolean> first = Replay.of(SlidingWindowLog.of(1, Duration.ofMillis(100)))
                .events(endless)
                .limit(4)
                .map(ReplayEvent::allowed)
                .toList();
        assertThat(first).containsExactly(true, false, true, false);
    }

    @Test
    void memoryHoldsOnlyKeysThatHaveNotRecovered() {
        ReplayedKeys<?> keys =
                Replay.of(TokenBucket.perSecond(1_000).withBurst(1)).keys();
        int most = 0;
        for (int i = 0; i < 1_000_000; i++) {
            assertThat(keys.next(Arrival.at(Duration.ofNanos(10_000L * i), "key" + i))
                            .allowed())
                    .isTrue();
            most = Math.max(most, keys.size());
        }
        assertThat(most).as("100 keys recover at a time").isLessThanOrEqualTo(1_024);
    }

    @Test
    void sameLogGivesTheSameAnswersEveryTime() {
        SplittableRandom random = new SplittableRandom(7);
        List<Arrival> arrivals = IntStream.range(0, 5_000)
                .mapToObj(i -> new Arrival(Duration.ofMillis(i), "k" + random.nextInt(20), 1 + random.nextInt(3)))
                .toList();
        Replay replay = Replay.of(SlidingWindowLog.of(5, Duration.ofSeconds(1))).delaying(Duration.ofSeconds(3));
        ReplayResult first = replay.run(arrivals);
        assertThat(replay.run(arrivals).events())
                .extracting(ReplayEvent::departure)
                .isEqualTo(first.events().stream().map(ReplayEvent::departure).toList());
        assertThat(replay.summarize(arrivals.stream())).isEqualTo(first.summary());
        assertThat(first.summary().allowed() + first.summary().denied()).isEqualTo(5_000);
        assertThat(first.summary().denied()).isPositive();
    }

    @Test
    void percentilesAreWithinOnePercentAndNeverTooLow() {
        Replay replay = Replay.of(LeakyBucket.perSecond(10).withQueue(2_000)).delaying();
        ReplaySummary summary = replay.summarize(IntStream.range(0, 1_000).mapToObj(i -> Arrival.at(Duration.ZERO)));
        assertThat(summary.longestDelay()).isEqualTo(Duration.ofMillis(99_900));
        assertThat(summary.medianDelay()).isBetween(Duration.ofMillis(49_900), Duration.ofMillis(50_399));
        assertThat(summary.p99Delay()).isBetween(Duration.ofMillis(98_900), Duration.ofMillis(99_889));
    }

    @Test
    void emptyLogHasAnEmptySummary() {
        assertThat(Replay.of(Gcra.perSecond(1)).summarize(Stream.empty()))
                .isEqualTo(new ReplaySummary(0, 0, 0, Duration.ZERO, Duration.ZERO, Duration.ZERO));
    }

    @Test
    void arrivalsOutOfOrderAreRefused() {
        assertThatThrownBy(() -> Replay.of(Gcra.perSecond(1)).run(atMillis(5, 4)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("arrivals must be in order of time, but PT0.004S came after PT0.005S");
    }

    @Test
    void badArgumentsAreRefusedByName() {
        Replay replay = Replay.of(Gcra.perSecond(1));
        assertThatThrownBy(() -> Replay.of(ConcurrencyLimit.of(1)))
                .hasMessageStartingWith("policy must not be a ConcurrencyLimit");
        assertThatThrownBy(() -> Replay.of(null))
                .isInstanceOf(NullPointerException.class)
                .hasMessage("policy");
        assertThatThrownBy(() -> replay.delaying(Duration.ofMillis(-1)))
                .hasMessage("maxWait must not be negative, was PT-0.001S");
        assertThatThrownBy(() -> replay.startingAt(Instant.MAX))
                .hasMessageStartingWith("start must lie within 292 years");
        assertThatThrownBy(() -> Arrival.at(Duration.ofNanos(-1))).hasMessageStartingWith("at must lie between zero");
        assertThatThrownBy(() -> new Arrival(Duration.ZERO, "a", 0)).hasMessage("permits must be positive, was 0");
        assertThatThrownBy(() -> Arrival.at(Duration.ZERO, null))
                .isInstanceOf(NullPointerException.class)
                .hasMessage("key");
    }
}
