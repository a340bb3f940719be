package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofNanos;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.ManualScheduler;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Seeds;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;

/** A stream behind a bucket whose timer is late: which lateness is made up for, and which is not. */
class LatePacingTest {

    private static final long INTERVAL = 1_000_000;
    private static final LeakyBucket BUCKET = LeakyBucket.of(1, ofNanos(INTERVAL));

    private final ManualScheduler time = new ManualScheduler(-5);
    private final List<Long> departures = new ArrayList<>();
    private final long start = now();

    private long now() {
        return time.now(TimeUnit.NANOSECONDS);
    }

    static Stream<RateLimitPolicy> buckets() {
        return Stream.of(
                BUCKET,
                TokenBucket.of(1, ofNanos(INTERVAL)),
                new TokenBucket(1, 1, ofNanos(INTERVAL), TokenBucket.Refill.STEPWISE, 1),
                new Gcra(1, ofNanos(INTERVAL), 1));
    }

    private RateLimiter limiter(RateLimitPolicy bucket) {
        return RateLimiter.builder(bucket).scheduler(time).build();
    }

    private void wakeAfter(long nanos) {
        time.advance(nanos);
        time.runDue();
    }

    private void depart() {
        departures.add(now() - start);
    }

    private void wakeInTimeUntilGone(int elements) {
        while (departures.size() < elements) {
            wakeAfter(time.nextIn());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void oneThatIsLateByThreeIntervalsIsFollowedByThoseThatAreDueAndThenTheBeat(boolean polled) {
        Flux<Integer> source = Flux.range(0, 101);
        (polled ? source : source.hide()).transform(limitRate(limiter(BUCKET))).subscribe(element -> depart());
        wakeAfter(4 * INTERVAL + INTERVAL / 5);
        assertThat(departures).hasSize(5);
        assertThat(time.nextIn()).isEqualTo(INTERVAL * 4 / 5);
        wakeInTimeUntilGone(101);
        assertThat(departures.get(100)).isEqualTo(100 * INTERVAL);
    }

    @ParameterizedTest
    @MethodSource("buckets")
    void callsOneAfterTheOtherKeepTheBeatToo(RateLimitPolicy bucket) {
        RateLimiter limiter = limiter(bucket);
        Flux.range(0, 101).concatMap(i -> limiter.acquire("k")).subscribe(decision -> depart());
        wakeAfter(4 * INTERVAL + INTERVAL / 5);
        assertThat(departures).hasSize(5);
        wakeInTimeUntilGone(101);
        assertThat(departures.get(100)).isEqualTo(100 * INTERVAL);
    }

    @Test
    void timerThatIsAlwaysLateLosesNothingAndNobodyLeavesBeforeItsSlot() {
        long seed = Seeds.next();
        Random random = new Random(seed);
        LeakyBucket sevenPerThree = LeakyBucket.of(7, ofMillis(3));
        int elements = 5_000;
        Flux.range(0, elements).transform(limitRate(limiter(sevenPerThree))).subscribe(element -> depart());
        while (departures.size() < elements - 1) {
            wakeAfter(time.nextIn() + random.nextInt(4_000_000));
            long due = Math.floorDiv((now() - start) * 7, 3_000_000L) + 1;
            assertThat(departures).as("seed %d", seed).hasSize((int) Math.min(due, elements));
        }
    }

    static Stream<RateLimitPolicy> everydayBuckets() {
        return Stream.of(100, 1_000, 10_000)
                .flatMap(rate -> Stream.concat(
                        Stream.of(LeakyBucket.perSecond(rate)),
                        Stream.of(1, 2, 20)
                                .flatMap(burst -> Stream.of(
                                        TokenBucket.perSecond(rate).withBurst(burst),
                                        TokenBucket.of(1, ofNanos(1_000_000_000 / rate))
                                                .withBurst(burst)
                                                .stepwise(),
                                        Gcra.perSecond(rate).withBurst(burst)))));
    }

    @ParameterizedTest
    @MethodSource("everydayBuckets")
    void everyBucketReachesItsRateThoughEachTimerIsLate(RateLimitPolicy bucket) {
        long seed = Seeds.next();
        Random random = new Random(seed);
        long interval = bucket.timeFor(1).orElseThrow().toNanos();
        int elements = 4_000;
        Flux.range(0, elements).transform(limitRate(limiter(bucket))).subscribe(element -> depart());
        while (departures.size() < elements) {
            wakeAfter(time.nextIn() + random.nextInt(19_000_000));
        }
        long waited = elements - initialBurst(bucket);
        assertThat(departures.get(elements - 1))
                .as("seed %d", seed)
                .isBetween(waited * interval, waited * interval + 19_000_000);
    }

    private static long initialBurst(RateLimitPolicy bucket) {
        return bucket instanceof LeakyBucket ? 1 : bucket.capacity();
    }

    /** Asks for one element at a time, when told to. */
    private final class Hesitating extends BaseSubscriber<Integer> {

        @Override
        protected void hookOnSubscribe(Subscription subscription) {}

        @Override
        protected void hookOnNext(Integer element) {
            depart();
        }
    }

    private Hesitating afterOneThatWasLate(RateLimiter limiter) {
        Hesitating consumer = new Hesitating();
        Flux.range(0, 100).transform(limitRate(limiter)).subscribe(consumer);
        consumer.request(2);
        wakeAfter(4 * INTERVAL);
        assertThat(departures).containsExactly(0L, 4 * INTERVAL);
        return consumer;
    }

    @ParameterizedTest
    @MethodSource("buckets")
    void consumerThatIsBackWithinAnIntervalKeepsTheBeat(RateLimitPolicy bucket) {
        Hesitating consumer = afterOneThatWasLate(limiter(bucket));
        time.advance(INTERVAL);
        consumer.request(10);
        assertThat(departures).as("slots 2 to 5").hasSize(6);
        assertThat(time.nextIn()).isEqualTo(INTERVAL);
    }

    @ParameterizedTest
    @ValueSource(longs = {INTERVAL + 1, 15 * INTERVAL, 1_000 * INTERVAL})
    void consumerThatPausesForMoreThanAnIntervalStartsAfresh(long pauseNanos) {
        Hesitating consumer = afterOneThatWasLate(limiter(BUCKET));
        time.advance(pauseNanos);
        consumer.request(10);
        assertThat(departures).hasSize(3);
        assertThat(time.nextIn()).isEqualTo(INTERVAL);
    }

    @ParameterizedTest
    @MethodSource("buckets")
    void newBeatIsKeptAfterAFreshStart(RateLimitPolicy bucket) {
        Hesitating consumer = afterOneThatWasLate(limiter(bucket));
        time.advance(5 * INTERVAL);
        consumer.request(10);
        wakeAfter(3 * INTERVAL);
        assertThat(departures).hasSize(6);
        assertThat(time.nextIn()).isEqualTo(INTERVAL);
    }

    @ParameterizedTest
    @MethodSource("buckets")
    void latenessBeforeAFreshStartDoesNotExcuseTheNextPause(RateLimitPolicy bucket) {
        Hesitating consumer = afterOneThatWasLate(limiter(bucket));
        time.advance(INTERVAL * 3 / 2);
        consumer.request(1);
        time.advance(INTERVAL * 3 / 2);
        consumer.request(10);
        assertThat(departures).hasSize(4);
        assertThat(time.nextIn()).isEqualTo(INTERVAL);
    }

    @ParameterizedTest
    @MethodSource("buckets")
    void whatAPauseOfTheKeyTookIsNotMadeUpFor(RateLimitPolicy bucket) {
        RateLimiter limiter = limiter(bucket);
        Hesitating consumer = afterOneThatWasLate(limiter);
        limiter.pause(LimitSpec.DEFAULT_KEY, ofNanos(INTERVAL / 2)).subscribe();
        time.advance(INTERVAL / 2);
        consumer.request(10);
        assertThat(departures).hasSize(3);
        assertThat(time.nextIn()).isEqualTo(INTERVAL);
    }

    @ParameterizedTest
    @MethodSource("buckets")
    void resetKeyHasNothingToMakeUpFor(RateLimitPolicy bucket) {
        RateLimiter limiter = limiter(bucket);
        Hesitating consumer = afterOneThatWasLate(limiter);
        limiter.reset(LimitSpec.DEFAULT_KEY).subscribe();
        consumer.request(10);
        assertThat(departures).hasSize(3);
        assertThat(time.nextIn()).isEqualTo(INTERVAL);
    }

    @Test
    void othersWhoAskMeanwhileTakeTheirOwnSlots() {
        RateLimiter limiter = limiter(BUCKET);
        Hesitating consumer = afterOneThatWasLate(limiter);
        assertThat(DirectLimiter.of(limiter).tryAcquireNow(LimitSpec.DEFAULT_KEY, 2))
                .as("slots 2 and 3")
                .isTrue();
        consumer.request(10);
        assertThat(departures).as("slot 4").hasSize(3);
        assertThat(time.nextIn()).isEqualTo(INTERVAL);
    }

    @ParameterizedTest
    @MethodSource("buckets")
    void longHaltIsMadeUpForUpToTheBound(RateLimitPolicy bucket) {
        Flux.range(0, 1_000).transform(limitRate(limiter(bucket))).subscribe(element -> depart());
        wakeAfter(500 * INTERVAL);
        assertThat(departures).as("0; 20 ms made up for, and now").hasSize(1 + 20 + 1);
        assertThat(time.nextIn()).isEqualTo(INTERVAL);
    }

    /** A subscriber of another key burns time on the thread that tells all: the timer was in time, the telling is late. */
    private void tellLate(RateLimiter limiter, long byNanos) {
        limiter.acquire("slow").block();
        limiter.acquire("slow").subscribe(decision -> time.advance(byNanos));
        Flux.range(0, 100).transform(limitRate(limiter)).subscribe(element -> depart());
        wakeAfter(INTERVAL);
        assertThat(departures).startsWith(0L, INTERVAL + byNanos);
    }

    @ParameterizedTest
    @MethodSource("buckets")
    void oneThatWasGrantedInTimeAndToldLateKeepsTheBeat(RateLimitPolicy bucket) {
        tellLate(limiter(bucket), 3 * INTERVAL);
        assertThat(departures).as("slots 0 to 4").hasSize(5);
        assertThat(time.nextIn()).isEqualTo(INTERVAL);
    }

    @Test
    void strictSpacingMakesUpForNoLateTellingEither() {
        tellLate(limiter(BUCKET.strictSpacing()), 3 * INTERVAL);
        assertThat(departures).hasSize(3);
        assertThat(time.nextIn()).isEqualTo(INTERVAL);
    }

    @Test
    void strictSpacingMakesUpForNothing() {
        Flux.range(0, 100).transform(limitRate(limiter(BUCKET.strictSpacing()))).subscribe(element -> depart());
        wakeAfter(4 * INTERVAL);
        assertThat(departures).containsExactly(0L, 4 * INTERVAL);
        assertThat(time.nextIn()).isEqualTo(INTERVAL);
    }
}
