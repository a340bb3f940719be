package io.github.reactorratelimit;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.testing.Race;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.test.scheduler.VirtualTimeScheduler;

/** A policy that changes while several threads ask, with a clock that stands still: nobody gets more than the newer one has left. */
class PolicyChangeRaceTest {

    private static final Duration LONG = Duration.ofDays(100);
    private static final int BATCH = 500;
    private static final int BATCHES = Boolean.getBoolean("ratelimit.tests.full") ? 200 : 20;

    /** Each capacity is above the one before, so that nothing that was spent is cut off. */
    static List<List<RateLimitPolicy>> changes() {
        return List.of(
                List.of(TokenBucket.of(4, LONG), TokenBucket.of(5, LONG), TokenBucket.of(6, LONG)),
                List.of(FixedWindow.of(4, LONG), TokenBucket.of(5, LONG), FixedWindow.of(6, LONG)),
                List.of(SlidingWindowLog.of(4, LONG), Gcra.of(5, LONG), SlidingWindowLog.of(6, LONG)));
    }

    @ParameterizedTest
    @MethodSource("changes")
    void debitsAgainstTwoChangesGrantNoMoreThanTheLastOneAllows(List<RateLimitPolicy> policies) {
        race(BATCHES, policies, PolicyChangeRaceTest::change, PolicyChangeRaceTest::change);
    }

    @ParameterizedTest
    @MethodSource("changes")
    void debitsAgainstTwoRefreshesOfTheKeyGrantNoMoreThanTheLastOneAllows(List<RateLimitPolicy> policies) {
        race(BATCHES / 4, policies, PolicyChangeRaceTest::refresh, PolicyChangeRaceTest::refresh);
    }

    private static void race(
            int batches,
            List<RateLimitPolicy> policies,
            BiConsumer<Changing, RateLimitPolicy> first,
            BiConsumer<Changing, RateLimitPolicy> second) {
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        Changing[] limiters = new Changing[BATCH];
        AtomicIntegerArray granted = new AtomicIntegerArray(BATCH);
        try (Race race = new Race(BATCH, Seeds.next())) {
            for (int batch = 0; batch < batches; batch++) {
                for (int i = 0; i < BATCH; i++) {
                    limiters[i] = new Changing(policies.get(0), time);
                    granted.set(i, 0);
                }
                race.run(i -> granted.addAndGet(i, asked(limiters[i], 3)), i -> {
                    first.accept(limiters[i], policies.get(1));
                    granted.addAndGet(i, asked(limiters[i], 1));
                    second.accept(limiters[i], policies.get(2));
                });
                for (int i = 0; i < BATCH; i++) {
                    int all = granted.get(i) + asked(limiters[i], 8);
                    assertThat(all).isBetween(3, 6);
                }
            }
        }
        time.dispose();
    }

    private static int asked(Changing changing, int times) {
        int granted = 0;
        for (int i = 0; i < times; i++) {
            granted += DirectLimiter.of(changing.limiter).tryAcquireNow("k", 1) ? 1 : 0;
        }
        return granted;
    }

    private static void change(Changing changing, RateLimitPolicy policy) {
        changing.limiter.changePolicy(policy).toFuture().join();
    }

    private static void refresh(Changing changing, RateLimitPolicy policy) {
        changing.ofTheKey = policy;
        changing.limiter.refreshPolicy("k").toFuture().join();
    }

    private static final class Changing {

        final RateLimiter limiter;

        /** Null if the key has the policy of all. */
        volatile @Nullable RateLimitPolicy ofTheKey;

        Changing(RateLimitPolicy first, Scheduler time) {
            this.limiter = RateLimiter.builder(first)
                    .scheduler(time)
                    .policyPerKey(key -> Mono.justOrEmpty(ofTheKey), Duration.ofDays(1))
                    .build();
            limiter.refreshPolicy("k").toFuture().join();
        }
    }
}
