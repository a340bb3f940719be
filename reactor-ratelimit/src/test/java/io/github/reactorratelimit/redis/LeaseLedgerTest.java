package io.github.reactorratelimit.redis;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterClosedException;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.Seeds;
import io.github.reactorratelimit.testing.redis.CommandCount;
import io.github.reactorratelimit.testing.redis.Dedicated;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.api.StatefulRedisConnection;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Flux;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** Under load: what was debited is spent, given back or still here, and few calls do it. */
@ExtendWith(RedisExtension.class)
class LeaseLedgerTest {

    private static final Duration PATIENCE = ofSeconds(60);

    /** What was debited and not given back can be read off it exactly. */
    private static final RateLimitPolicy POLICY =
            FixedWindow.of(1_000_000, ofDays(200)).fromFirstRequest();

    private final Standalone redis;
    private final StatefulRedisConnection<String, String> connection;
    private final StatefulRedisConnection<String, String> another;
    private final String name = "ledger-" + UUID.randomUUID();

    LeaseLedgerTest(@Dedicated Standalone redis) {
        this.redis = redis;
        this.connection = redis.connect();
        this.another = redis.connect();
    }

    @AfterEach
    void disconnect() {
        connection.close();
        another.close();
    }

    private RateLimiter limiter(RateLimitPolicy policy, RedisStore store) {
        return RateLimiter.builder(policy).name(name).store(store).build();
    }

    private RedisStore store() {
        return RedisStore.of(connection).withoutSelfTest().withDeadline(PATIENCE);
    }

    private static long debited(RateLimiter reader) {
        Decision seen = reader.peek("k").block(PATIENCE);
        return seen.limit() - seen.remaining();
    }

    @Test
    void whatWasDebitedIsSpentOrGivenBack() throws Exception {
        long seed = Seeds.of("whatWasDebitedIsSpentOrGivenBack");
        SplittableRandom random = new SplittableRandom(seed);
        RedisStore leasing = store().leasing(ofMillis(20));
        AtomicReference<RateLimiter> current = new AtomicReference<>(limiter(POLICY, leasing));
        RateLimiter reader = limiter(POLICY, store());
        AtomicLong spent = new AtomicLong();
        int asks = Boolean.getBoolean("ratelimit.tests.full") ? 50_000 : 5_000;
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            List<Future<?>> runs = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                SplittableRandom own = random.split();
                runs.add(threads.submit(() -> {
                    for (int j = 0; j < asks; j++) {
                        spend(current.get(), own, spent);
                    }
                }));
            }
            int closes = 0;
            while (!runs.stream().allMatch(Future::isDone)) {
                long before = spent.get();
                assertThat(debited(reader)).isGreaterThanOrEqualTo(before);
                if (random.nextInt(20) == 0) {
                    current.getAndSet(limiter(POLICY, leasing)).close().block(PATIENCE);
                    closes++;
                }
            }
            for (Future<?> run : runs) {
                run.get();
            }
            current.get().close().block(PATIENCE);
            Await.until("what was debited is what was spent", () -> debited(reader) == spent.get());
            System.out.printf("ledger: %d permits spent, %d limiters closed%n", spent.get(), closes);
        } finally {
            threads.shutdownNow();
        }
    }

    private static void spend(RateLimiter limiter, SplittableRandom random, AtomicLong spent) {
        long permits = 1 + random.nextInt(3);
        if (random.nextBoolean()) {
            if (DirectLimiter.of(limiter).tryAcquireNow("k", permits)) {
                spent.addAndGet(permits);
            }
            return;
        }
        try {
            Decision decision = limiter.tryAcquire("k", permits).block(PATIENCE);
            if (decision.allowed() && random.nextInt(10) == 0) {
                limiter.refund(decision).block(PATIENCE);
            } else if (decision.allowed()) {
                spent.addAndGet(permits);
            }
        } catch (RateLimiterClosedException closed) {
            // The next ask finds another limiter.
        }
    }

    @Test
    void fewCallsUnderLoad() {
        RateLimiter limiter = limiter(POLICY, store().leasing());
        CommandCount count = CommandCount.on(redis);
        int decisions = 40_000;
        Long allowed = Flux.range(0, decisions)
                .flatMap(i -> limiter.tryAcquire("k"), 64)
                .filter(Decision::allowed)
                .count()
                .block(PATIENCE);
        assertThat(allowed).isEqualTo(decisions);
        long calls = count.scripts();
        System.out.printf("lease: %d decisions in %d calls%n", decisions, calls);
        assertThat(calls).isLessThanOrEqualTo(decisions / 50);
        limiter.close().block(PATIENCE);
        assertThat(debited(limiter(POLICY, store()))).isEqualTo(decisions);
    }

    @Test
    void twoLimitersNeverSpendMoreThanTheLimit() {
        RateLimitPolicy policy = FixedWindow.of(10_000, ofDays(200)).fromFirstRequest();
        List<RateLimiter> limiters = List.of(
                limiter(policy, store().leasing()),
                limiter(
                        policy,
                        RedisStore.of(another)
                                .withoutSelfTest()
                                .withDeadline(PATIENCE)
                                .leasing()));
        Long allowed = Flux.range(0, 2)
                .flatMap(i -> Flux.range(0, 8_000)
                        .flatMap(j -> limiters.get(i).tryAcquire("k"), 16)
                        .subscribeOn(Schedulers.boundedElastic()))
                .filter(Decision::allowed)
                .count()
                .block(PATIENCE);
        assertThat(allowed).isLessThanOrEqualTo(10_000);
        Flux.fromIterable(limiters).flatMap(RateLimiter::close).blockLast(PATIENCE);
        assertThat(debited(limiter(policy, store()))).isEqualTo(allowed);
    }

    private RedisLimiterState state(Scheduler scheduler) {
        return (RedisLimiterState) store().leasing()
                .open(new LimiterSettings(name, POLICY, scheduler, scheduler, RateLimitRecorder.NOOP, 1, true));
    }

    @Test
    void leasedKeysAreBoundedAndForgottenWhenIdle() {
        HandClock clock = new HandClock();
        RedisLimiterState state = state(clock);
        Flux.range(0, PrepaidPermits.MAX_KEYS + 100)
                .flatMap(i -> state.evaluate("k" + i, null, 1), 64)
                .blockLast(PATIENCE);
        assertThat(state.permits().prepaid().size()).isEqualTo(PrepaidPermits.MAX_KEYS);
        clock.advance(RedisStore.DEFAULT_LEASE_TIME);
        Await.until("no key is leased", () -> state.permits().prepaid().size() == 0);
    }

    @Test
    void spendingWhatIsHereAllocatesNothing() {
        RedisLimiterState state = state(new HandClock());
        for (int i = 0; i < 2_000; i++) {
            state.evaluate("k", null, 1).block(PATIENCE);
        }
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long least = Long.MAX_VALUE;
        for (int round = 0; round < 100; round++) {
            long before = threads.getCurrentThreadAllocatedBytes();
            boolean all = true;
            for (int i = 0; i < 10; i++) {
                all &= state.decideNow("k", null, 1, LimiterState.RequestMode.SPEND) != null;
            }
            long bytes = threads.getCurrentThreadAllocatedBytes() - before;
            least = all ? Math.min(least, bytes) : least;
        }
        assertThat(least).isZero();
    }
}
