package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.ManualScheduler;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Race;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Flux;

/** Streams that share a limiter, side by side, while the clock stands still. */
class RunRaceTest {

    private static final int CAPACITY = 3_000;
    private static final int RACES = Boolean.getBoolean("ratelimit.tests.full") ? 1_000 : 200;

    static Stream<RateLimitPolicy> policies() {
        return Stream.of(
                TokenBucket.perSecond(1).withBurst(CAPACITY),
                Gcra.perSecond(1).withBurst(CAPACITY),
                FixedWindow.of(CAPACITY, Duration.ofDays(1)),
                SlidingWindowLog.of(CAPACITY, Duration.ofDays(1)));
    }

    private static List<RateLimiter> limiters(RateLimitPolicy policy) {
        List<RateLimiter> limiters = new ArrayList<>();
        for (int i = 0; i < RACES; i++) {
            limiters.add(RateLimiter.builder(policy)
                    .scheduler(new ManualScheduler(0))
                    .build());
        }
        return limiters;
    }

    /** Streams longer than the capacity: whoever took permits ahead uses them, so not one is left. */
    @ParameterizedTest
    @MethodSource("policies")
    void streamsTogetherGetTheCapacityToTheLastPermit(RateLimitPolicy policy) {
        List<RateLimiter> limiters = limiters(policy);
        AtomicLong passed = new AtomicLong();
        try (Race race = new Race(RACES, Seeds.of("runs together"))) {
            race.run(i -> spendAll(limiters.get(i), passed), i -> spendAll(limiters.get(i), passed));
        }
        assertThat(passed).hasValue((long) RACES * CAPACITY);
    }

    private static void spendAll(RateLimiter limiter, AtomicLong passed) {
        Flux.<Integer>generate(sink -> sink.next(1))
                .transform(limitRate(limiter, spec -> spec.reject()))
                .take(2 * CAPACITY)
                .subscribe(element -> passed.incrementAndGet(), denied -> {});
    }

    /** Streams that end or are cut off midway: what they took and did not use is there for others. */
    @ParameterizedTest
    @MethodSource("policies")
    void whatStreamsDidNotUseIsThereAfterwards(RateLimitPolicy policy) {
        List<RateLimiter> limiters = limiters(policy);
        AtomicLong passed = new AtomicLong();
        try (Race race = new Race(RACES, Seeds.of("runs that end"))) {
            race.run(
                    i -> Flux.range(0, 200 + i)
                            .transform(limitRate(limiters.get(i)))
                            .subscribe(element -> passed.incrementAndGet()),
                    i -> Flux.range(0, 10_000)
                            .transform(limitRate(limiters.get(i)))
                            .take(300 + i)
                            .subscribe(element -> passed.incrementAndGet()));
        }
        limiters.forEach(limiter -> spendAll(limiter, passed));
        assertThat(passed).hasValue((long) RACES * CAPACITY);
    }
}
