package io.github.reactorratelimit.algorithm;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Placing many requests at once is placing them one after the other, wherever it is done at all. */
class PlaceAllTest {

    private static final int HISTORIES = 4_000;

    static Stream<RateLimitPolicy> buckets() {
        return Stream.of(
                TokenBucket.perSecond(50_000).withBurst(1),
                TokenBucket.perSecond(100).withBurst(20),
                TokenBucket.perMinute(100).withBurst(7),
                TokenBucket.of(7, Duration.ofSeconds(3)).withBurst(5),
                TokenBucket.of(61, Duration.ofNanos(1_000_000_007)).withBurst(30),
                Gcra.perSecond(300_000).withBurst(4),
                LeakyBucket.perSecond(30),
                LeakyBucket.of(7, Duration.ofSeconds(3)));
    }

    @ParameterizedTest
    @MethodSource("buckets")
    void atOnceIsAsOneAfterTheOther(RateLimitPolicy policy) {
        Random random = new Random(Seeds.of("PlaceAllTest"));
        int atOnce = 0;
        Algorithms.Clock clock = new Algorithms.Clock(Tick.NANOSECOND, 0, 0);
        Algorithm<?> packed = Algorithms.asLong(policy, clock).orElseThrow();
        for (int i = 0; i < HISTORIES; i++) {
            Algorithm<?> algorithm = i % 2 == 0 ? Algorithms.of(policy, clock) : packed;
            atOnce += compare(algorithm, random) ? 1 : 0;
        }
        assertThat(atOnce).as("histories that were placed at once").isGreaterThan(HISTORIES / 3);
    }

    /** Whether the requests could be placed at once. */
    private static <S> boolean compare(Algorithm<S> algorithm, Random random) {
        long most = 1 + random.nextInt((int) Math.min(5, algorithm.capacity()));
        long now = random.nextLong() >> 20;
        Projection<S> one = new Projection<>(algorithm, algorithm.fresh(), now);
        for (long spent = 0; spent < algorithm.capacity() && spent < 50; spent++) {
            one = one.place(now, 1);
        }
        long arrivedAt = now;
        now += (long) (2 * random.nextDouble() * (one.preview(now, 1) - now));
        one = one.place(arrivedAt, 1 + random.nextInt((int) most));
        Projection<S> all = one;
        long sum = 0;
        for (int left = random.nextInt(200); left > 0; left--) {
            long permits = 1 + random.nextInt((int) most);
            sum += permits;
            arrivedAt = Math.min(now, arrivedAt + random.nextInt(1_000));
            one = one.place(arrivedAt, permits);
        }
        Projection<S> placed = all.placeAll(now, sum, most);
        if (placed == null) {
            return false;
        }
        for (long permits = 1; permits <= algorithm.capacity() && permits < 10; permits++) {
            assertThat(placed.preview(now, permits)).isEqualTo(one.preview(now, permits));
            assertThat(placed.place(now, permits).preview(now, 1))
                    .isEqualTo(one.place(now, permits).preview(now, 1));
        }
        return true;
    }
}
