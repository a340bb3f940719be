package io.github.reactorratelimit.local;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.ManualScheduler;
import io.github.reactorratelimit.PermitRun;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What a run takes ahead, and that it gives back the rest. */
class LocalRunTest {

    private static final int CAPACITY = 10_000;

    private final ManualScheduler clock = new ManualScheduler(-77);
    private RateLimiter limiter = limiter(TokenBucket.perSecond(1).withBurst(CAPACITY));

    private RateLimiter limiter(RateLimitPolicy policy) {
        return RateLimiter.builder(policy).scheduler(clock).build();
    }

    static Stream<RateLimitPolicy> policies() {
        return Stream.of(
                TokenBucket.perSecond(1).withBurst(CAPACITY),
                TokenBucket.of(CAPACITY, ofSeconds(60)).stepwise(),
                Gcra.perSecond(1).withBurst(CAPACITY),
                FixedWindow.of(CAPACITY, ofSeconds(60)),
                SlidingWindowCounter.of(CAPACITY, ofSeconds(60)),
                Policies.all(
                        TokenBucket.perSecond(1).withBurst(CAPACITY),
                        SlidingWindowCounter.of(CAPACITY, ofSeconds(60))));
    }

    private long spent() {
        Decision seen = limiter.peek("key").block();
        return seen.limit() - seen.remaining();
    }

    /** What is spent after each of the next elements, the clock standing still. */
    private List<Long> spentAfterEach(PermitRun run, int elements, long most) {
        List<Long> spent = new ArrayList<>();
        for (int i = 0; i < elements; i++) {
            assertThat(run.tryNext(most)).isTrue();
            spent.add(spent());
        }
        return spent;
    }

    @ParameterizedTest
    @MethodSource("policies")
    void takesTwiceAsManyEachTimeWhileElementsAreFast(RateLimitPolicy policy) {
        limiter = limiter(policy);
        List<Long> spent = spentAfterEach(limiter.run("key", 1), 8, 1_000);
        assertThat(spent).containsExactly(1L, 3L, 3L, 7L, 7L, 7L, 7L, 15L);
    }

    @ParameterizedTest
    @MethodSource("policies")
    void endGivesBackExactlyWhatDidNotCome(RateLimitPolicy policy) {
        limiter = limiter(policy);
        PermitRun run = limiter.run("key", 1);
        for (int came = 1; came <= 300; came++) {
            assertThat(run.tryNext(1_000)).isTrue();
            if (came % 7 == 0) {
                run.end();
                assertThat(spent()).isEqualTo(came);
                run.end();
                assertThat(spent()).isEqualTo(came);
            }
        }
    }

    @Test
    void takesAtMost64() {
        PermitRun run = limiter.run("key", 1);
        List<Long> spent = spentAfterEach(run, 1_000, Long.MAX_VALUE);
        assertThat(spent.get(126)).isEqualTo(127);
        assertThat(spent.get(127)).isEqualTo(191);
        assertThat(spent.get(191)).isEqualTo(255);
    }

    @Test
    void takesNoMoreThanIsWanted() {
        PermitRun run = limiter.run("key", 1);
        spentAfterEach(run, 200, 1_000);
        run.end();
        assertThat(run.tryNext(3)).isTrue();
        assertThat(spent()).isEqualTo(203);
    }

    @Test
    void takesNoMoreThanASixteenthOfTheCapacity() {
        limiter = limiter(TokenBucket.perSecond(1).withBurst(100));
        List<Long> spent = spentAfterEach(limiter.run("key", 2), 8, 1_000);
        assertThat(spent).containsExactly(2L, 6L, 6L, 12L, 12L, 12L, 18L, 18L);
    }

    @Test
    void takesWhatIsLeftAndIsThenDenied() {
        PermitRun run = limiter.run("key", 3);
        long passed = 0;
        while (run.tryNext(1_000)) {
            passed++;
        }
        assertThat(passed).isEqualTo(CAPACITY / 3);
        assertThat(spent()).isEqualTo(CAPACITY / 3 * 3);
    }

    @Test
    void slowElementsAreTakenOneByOne() {
        PermitRun run = limiter.run("key", 1);
        for (int came = 1; came <= 20; came++) {
            assertThat(run.tryNext(1_000)).isTrue();
            assertThat(spent()).isEqualTo(came);
            clock.advance(LocalRun.FAST_NANOS);
        }
    }

    @Test
    void oneHaltStartsOverFromOne() {
        PermitRun run = limiter.run("key", 1);
        spentAfterEach(run, 127, 1_000);
        clock.advance(64 * LocalRun.FAST_NANOS);
        assertThat(spentAfterEach(run, 4, 1_000)).containsExactly(128L, 130L, 130L, 134L);
    }

    @Test
    void leakyBucketTakesNothingAhead() {
        LeakyBucket leaky = LeakyBucket.perSecond(1).withQueue(CAPACITY);
        limiter = limiter(leaky);
        assertThat(limiter.run("key", 1)).isNotInstanceOf(LocalRun.class);
        limiter = limiter(Policies.all(TokenBucket.perSecond(CAPACITY), leaky));
        assertThat(limiter.run("key", 1)).isNotInstanceOf(LocalRun.class);
    }

    @Test
    void logTakesNothingAhead() {
        SlidingWindowLog log = SlidingWindowLog.of(CAPACITY, ofSeconds(60));
        limiter = limiter(log);
        assertThat(spentAfterEach(limiter.run("key", 1), 8, 1_000)).containsExactly(1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L);
        limiter = limiter(Policies.all(TokenBucket.perSecond(CAPACITY), log));
        assertThat(limiter.run("key", 1)).isNotInstanceOf(LocalRun.class);
    }

    @Test
    void pauseIsSeenAtTheNextElement() {
        PermitRun run = limiter.run("key", 1);
        spentAfterEach(run, 4, 1_000);
        limiter.pause("key", ofSeconds(1)).block();
        assertThat(run.tryNext(1_000)).isFalse();
        limiter.pause("key", ofSeconds(0)).block();
        assertThat(spent()).isEqualTo(4);
    }

    @Test
    void resetIsSeenAtTheNextElement() {
        PermitRun run = limiter.run("key", 1);
        spentAfterEach(run, 4, 1_000);
        limiter.reset("key").block();
        assertThat(spent()).isZero();
        assertThat(run.tryNext(1)).isTrue();
        assertThat(spent()).isOne();
    }

    @Test
    void closeIsSeenAtTheNextElement() {
        PermitRun run = limiter.run("key", 1);
        spentAfterEach(run, 4, 1_000);
        limiter.close().block();
        assertThat(run.tryNext(1_000)).isFalse();
    }

    @Test
    void whoeverWaitsGetsWhatComesBack() {
        limiter = limiter(TokenBucket.perSecond(1).withBurst(64));
        PermitRun run = limiter.run("key", 1);
        spentAfterEach(run, 4, 1_000);
        assertThat(spent()).isEqualTo(7);
        AtomicReference<Decision> granted = new AtomicReference<>();
        limiter.acquire("key", 60).subscribe(granted::set);
        clock.runDue();
        assertThat(granted).hasNullValue();
        run.end();
        clock.runDue();
        assertThat(granted).doesNotHaveNullValue();
        assertThat(run.tryNext(1)).isFalse();
    }
}
