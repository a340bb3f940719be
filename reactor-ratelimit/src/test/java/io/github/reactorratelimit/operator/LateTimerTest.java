package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofNanos;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.ManualScheduler;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.local.SketchStore;
import io.github.reactorratelimit.testing.Seeds;
import java.util.ArrayList;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;

/** Every bucket behind a timer that is late by a seeded amount: the rate it reaches, and the bound it keeps. */
@Tag("slow")
class LateTimerTest {

    private static final long SECOND = 1_000_000_000;
    private static final long MOST_MADE_UP = 20_000_000;
    private static final int SECONDS = Boolean.getBoolean("ratelimit.tests.full") ? 60 : 5;

    private final ManualScheduler time = new ManualScheduler(-5);
    private final List<Long> emissions = new ArrayList<>();

    /**
     * A bucket and what it promises.
     *
     * @param burst the constant part of its bound
     */
    private record Bucket(String name, RateLimitPolicy policy, int perSecond, int burst) {

        long interval() {
            return SECOND / perSecond;
        }

        @Override
        public String toString() {
            return name + " of " + perSecond + " per second";
        }
    }

    private static Stream<Bucket> buckets(int perSecond) {
        long interval = SECOND / perSecond;
        Stream<Bucket> bursts = Stream.of(1, 2, 20).flatMap(burst -> {
            TokenBucket bucket = TokenBucket.perSecond(perSecond).withBurst(burst);
            RateLimitPolicy stepwise = new TokenBucket(burst, 1, ofNanos(interval), TokenBucket.Refill.STEPWISE, burst);
            Gcra gcra = new Gcra(perSecond, ofMillis(1_000), burst);
            return Stream.of(
                    new Bucket("token bucket, burst " + burst, bucket, perSecond, burst),
                    new Bucket("stepwise bucket, burst " + burst, stepwise, perSecond, burst + 1),
                    new Bucket("GCRA, burst " + burst, gcra, perSecond, burst),
                    new Bucket("two buckets, burst " + burst, Policies.all(bucket, gcra), perSecond, burst));
        });
        return Stream.concat(
                bursts, Stream.of(new Bucket("leaky bucket", LeakyBucket.perSecond(perSecond), perSecond, 1)));
    }

    static Stream<Bucket> buckets() {
        return Stream.of(100, 1_000, 10_000).flatMap(LateTimerTest::buckets);
    }

    private long now() {
        return time.now(TimeUnit.NANOSECONDS);
    }

    private RateLimiter limiter(RateLimitPolicy policy) {
        return RateLimiter.builder(policy).scheduler(time).build();
    }

    /** Late by up to 150 µs as a rule, by up to 4 ms now and then. */
    private static long lateness(Random random) {
        return random.nextInt(100) == 0 ? random.nextInt(4_000_000) : random.nextInt(150_000);
    }

    private void wakeLateUntilEmitted(int elements, Random random) {
        while (emissions.size() < elements) {
            time.advance(Math.max(0, time.nextIn()) + lateness(random));
            time.runDue();
        }
    }

    /** Emits, and takes up to nine tenths of an interval to do so. */
    private void emit(Bucket bucket, Random random) {
        emissions.add(now());
        time.advance((long) (random.nextDouble() * 0.9 * bucket.interval()));
    }

    private void assertRate(Bucket bucket, String context) {
        int last = emissions.size() - 1;
        double took = emissions.get(last) - emissions.get(bucket.burst());
        assertThat((last - bucket.burst()) * bucket.interval() / took)
                .as("share of the rate, %s", context)
                .isGreaterThanOrEqualTo(0.999);
    }

    /** In no window W more than the burst and the rate times W and {@code slackNanos}. */
    private static void assertBound(Bucket bucket, List<Long> times, long slackNanos, String context) {
        long earliest = Long.MIN_VALUE;
        long earlyBy = 0;
        long tolerance = (bucket.burst() - 1) * bucket.interval() + slackNanos;
        for (long at : times.stream().sorted().toList()) {
            earlyBy = Math.max(earlyBy, earliest == Long.MIN_VALUE ? 0 : earliest - at);
            earliest = Math.max(earliest, at - tolerance) + bucket.interval();
        }
        assertThat(earlyBy).as("nanoseconds outside the bound, %s", context).isZero();
    }

    @ParameterizedTest
    @MethodSource("buckets")
    void streamReachesTheRate(Bucket bucket) {
        long seed = Seeds.of(bucket.toString());
        Random random = new Random(seed);
        int elements = bucket.perSecond() * SECONDS;
        Flux.range(0, elements)
                .hide()
                .transform(limitRate(limiter(bucket.policy())))
                .subscribe(element -> emit(bucket, random));
        wakeLateUntilEmitted(elements, random);
        assertRate(bucket, "seed " + seed);
        assertBound(bucket, emissions, MOST_MADE_UP, "seed " + seed);
    }

    @ParameterizedTest
    @MethodSource("buckets")
    void callsReachTheRateAndKeepTheBoundAtTheirDueTimes(Bucket bucket) {
        long seed = Seeds.of(bucket.toString());
        Random random = new Random(seed);
        int elements = bucket.perSecond() * SECONDS;
        List<Long> dueTimes = new ArrayList<>();
        RateLimiter limiter = limiter(bucket.policy());
        Flux.range(0, elements)
                .concatMap(i -> limiter.acquire("k"))
                .map(decision -> decision.debit().map(Debit::atTick).orElseThrow())
                .subscribe(dueAt -> {
                    dueTimes.add(dueAt);
                    emit(bucket, random);
                });
        wakeLateUntilEmitted(elements, random);
        assertRate(bucket, "seed " + seed);
        assertBound(bucket, dueTimes, 0, "seed " + seed);
        long origin = emissions.get(0) - dueTimes.get(0);
        LongSummaryStatistics late = IntStream.range(0, elements)
                .mapToLong(i -> emissions.get(i) - dueTimes.get(i) - origin)
                .summaryStatistics();
        assertThat(late.getMin()).as("seed %d", seed).isZero();
        assertThat(late.getMax()).as("seed %d", seed).isLessThanOrEqualTo(MOST_MADE_UP);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 20})
    void streamInASketchReachesTheRateToo(int burst) {
        long seed = Seeds.next();
        Random random = new Random(seed);
        Bucket bucket = new Bucket("sketch", TokenBucket.perSecond(1_000).withBurst(burst), 1_000, burst);
        RateLimiter limiter = RateLimiter.builder(bucket.policy())
                .scheduler(time)
                .store(SketchStore.ofBytes(1 << 16))
                .build();
        Flux.range(0, 5_000).hide().transform(limitRate(limiter)).subscribe(element -> emit(bucket, random));
        wakeLateUntilEmitted(5_000, random);
        assertRate(bucket, "seed " + seed);
        assertBound(bucket, emissions, MOST_MADE_UP, "seed " + seed);
    }

    static Stream<Bucket> bucketsOfOneRate() {
        return buckets(1_000);
    }

    private int allowance(Bucket bucket) {
        boolean stepwise = bucket.policy() instanceof TokenBucket some && some.style() == TokenBucket.Refill.STEPWISE;
        return stepwise ? bucket.burst() - 1 : bucket.burst();
    }

    @ParameterizedTest
    @MethodSource("bucketsOfOneRate")
    void stallIsMadeUpForTwentyMillisecondsAndTheRestIsLost(Bucket bucket) {
        Flux.range(0, 5_000)
                .hide()
                .transform(limitRate(limiter(bucket.policy())))
                .subscribe(i -> emissions.add(now()));
        assertThat(emissions).hasSize(allowance(bucket));
        time.advance(SECOND / 2);
        time.runDue();
        assertThat(emissions).hasSize(2 * allowance(bucket) + 20);
        assertThat(time.nextIn()).isEqualTo(bucket.interval());
    }

    @ParameterizedTest
    @MethodSource("bucketsOfOneRate")
    void stallOfAQueueIsMadeUpForTwentyMillisecondsAndTheRestIsLost(Bucket bucket) {
        RateLimiter limiter = limiter(bucket.policy());
        Flux.range(0, 900).flatMap(i -> limiter.acquire("k"), 900).subscribe(decision -> emissions.add(now()));
        assertThat(emissions).hasSize(allowance(bucket));
        time.advance(SECOND / 2);
        time.runDue();
        assertThat(emissions).hasSize(2 * allowance(bucket) + 20);
        assertThat(time.nextIn()).isEqualTo(bucket.interval());
    }

    @Test
    void windowIsKeptByTheEmissionsThemselves() {
        long seed = Seeds.next();
        Random random = new Random(seed);
        Flux.range(0, 1_000)
                .transform(limitRate(limiter(SlidingWindowLog.of(5, ofMillis(5)))))
                .subscribe(element -> emissions.add(now()));
        wakeLateUntilEmitted(1_000, random);
        for (int i = 5; i < 1_000; i++) {
            assertThat(emissions.get(i) - emissions.get(i - 5))
                    .as("seed %d", seed)
                    .isGreaterThanOrEqualTo(5_000_000);
        }
    }
}
