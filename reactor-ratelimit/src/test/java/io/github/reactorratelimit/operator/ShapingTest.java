package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Seeds;
import java.math.BigInteger;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Sinks;
import reactor.test.scheduler.VirtualTimeScheduler;

/**
 * Element i leaves at max(arrival, what the bucket allows), to the nanosecond. What the bucket allows is
 * computed here from its definition: tokens in fractions of a nanosecond's refill, never rounded.
 */
class ShapingTest {

    private static final int PATTERNS = 1_000;
    private static final int ELEMENTS = 60;

    private record Arrival(long atNanos, long cost) {}

    /** Tokens in units of 1 / periodNanos, so that each nanosecond brings exactly {@code refill} units. */
    private static List<Long> expected(long capacity, long refill, Duration period, List<Arrival> arrivals) {
        BigInteger unit = BigInteger.valueOf(period.toNanos());
        BigInteger rate = BigInteger.valueOf(refill);
        BigInteger full = unit.multiply(BigInteger.valueOf(capacity));
        BigInteger tokens = full;
        long now = 0;
        List<Long> departures = new ArrayList<>();
        for (Arrival arrival : arrivals) {
            BigInteger price = unit.multiply(BigInteger.valueOf(arrival.cost()));
            long earliest = Math.max(now, arrival.atNanos());
            tokens = full.min(tokens.add(rate.multiply(BigInteger.valueOf(earliest - now))));
            now = earliest;
            if (tokens.compareTo(price) < 0) {
                BigInteger[] wait = price.subtract(tokens).divideAndRemainder(rate);
                long waitNanos = wait[0].longValueExact() + (wait[1].signum() == 0 ? 0 : 1);
                now += waitNanos;
                tokens = full.min(tokens.add(rate.multiply(BigInteger.valueOf(waitNanos))));
            }
            tokens = tokens.subtract(price);
            departures.add(now);
        }
        return departures;
    }

    private static List<Long> observed(RateLimitPolicy policy, List<Arrival> arrivals) {
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        RateLimiter limiter = RateLimiter.builder(policy).scheduler(time).build();
        Sinks.Many<Arrival> sink = Sinks.many().unicast().onBackpressureBuffer();
        List<Long> departures = new ArrayList<>();
        long start = time.now(TimeUnit.NANOSECONDS);
        sink.asFlux()
                .transform(limitRate(limiter, spec -> spec.cost(Arrival::cost)))
                .subscribe(arrival -> departures.add(time.now(TimeUnit.NANOSECONDS) - start));
        for (Arrival arrival : arrivals) {
            time.schedule(() -> sink.tryEmitNext(arrival).orThrow(), arrival.atNanos(), TimeUnit.NANOSECONDS);
        }
        time.advanceTimeBy(Duration.ofDays(365));
        return departures;
    }

    private static List<Arrival> arrivals(Random random, long capacity, long intervalNanos, boolean mixedCosts) {
        List<Arrival> arrivals = new ArrayList<>();
        long at = random.nextLong(intervalNanos + 1);
        for (int i = 0; i < ELEMENTS; i++) {
            arrivals.add(new Arrival(at, mixedCosts ? 1 + random.nextLong(capacity) : 1));
            at += switch (random.nextInt(5)) {
                case 0, 1 -> 0;
                case 2 -> intervalNanos + random.nextInt(3) - 1;
                case 3 -> random.nextLong(3 * intervalNanos + 1);
                default -> random.nextInt(10) == 0 ? capacity * intervalNanos : random.nextLong(intervalNanos + 1);
            };
        }
        return arrivals;
    }

    @Test
    void elementsLeaveAtTheLaterOfArrivalAndWhatTheBucketAllows() {
        long seed = Seeds.next();
        Random random = new Random(seed);
        long[] periods = {1_000_000_000L, 3_000_000_000L, 60_000_000_000L, 999_983, 7_000};
        int waited = 0;
        for (int pattern = 0; pattern < PATTERNS; pattern++) {
            Duration period = Duration.ofNanos(periods[random.nextInt(periods.length)]);
            long refill = 1 + random.nextInt(pattern % 2 == 0 ? 10 : 1_000);
            long interval = Math.max(1, period.toNanos() / refill);
            // A bucket that refills more than a permit per thousand ticks is refused if it is too small.
            long capacity = 1 + random.nextInt(pattern % 3 == 0 ? 3 : 20) + 1_000 / interval;
            List<Arrival> arrivals = arrivals(random, capacity, interval, pattern % 4 == 0);
            RateLimitPolicy policy = random.nextBoolean()
                    ? new TokenBucket(capacity, refill, period)
                    : new Gcra(refill, period, capacity);
            List<Long> expected = expected(capacity, refill, period, arrivals);
            assertThat(observed(policy, arrivals))
                    .as("seed %d, pattern %d, %s", seed, pattern, policy)
                    .isEqualTo(expected);
            for (int i = 0; i < ELEMENTS; i++) {
                waited += expected.get(i) > arrivals.get(i).atNanos() ? 1 : 0;
            }
        }
        assertThat(waited).as("elements that waited").isGreaterThan(PATTERNS * ELEMENTS / 4);
        System.out.printf("%d of %d elements waited%n", waited, PATTERNS * ELEMENTS);
    }
}
