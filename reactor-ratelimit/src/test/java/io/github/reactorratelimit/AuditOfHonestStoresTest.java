package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofNanos;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.Disposable;
import reactor.core.scheduler.Schedulers;
import reactor.test.scheduler.VirtualTimeScheduler;

/** A store that keeps its policy is accused of nothing, whatever happens at the same time. */
class AuditOfHonestStoresTest {

    private static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");
    private static final int TRACES = FULL ? 5_000 : 200;
    private static final int STEPS = 200;
    private static final int THREADS = 4;
    private static final int REQUESTS_PER_THREAD = FULL ? 1_000_000 : 10_000;

    static List<RateLimitPolicy> policies() {
        return List.of(
                TokenBucket.perSecond(5),
                TokenBucket.of(7, ofSeconds(3)).withInitialTokens(2),
                TokenBucket.perSecond(3).withBurst(8).stepwise(),
                new Gcra(7, ofSeconds(3), 4),
                LeakyBucket.perSecond(4).withQueue(5),
                FixedWindow.of(6, ofSeconds(1)),
                FixedWindow.of(6, ofSeconds(1)).fromFirstRequest(),
                SlidingWindowLog.of(5, ofSeconds(1)),
                SlidingWindowCounter.of(6, ofSeconds(2)),
                Policies.all(TokenBucket.perSecond(6), FixedWindow.of(20, ofSeconds(5))));
    }

    @ParameterizedTest
    @MethodSource("policies")
    void randomTracesAreNoReasonToAccuse(RateLimitPolicy policy) {
        SplittableRandom random = new SplittableRandom(Seeds.of("audit of " + policy));
        long audited = 0;
        for (int i = 0; i < TRACES; i++) {
            AccuracyRecorder accuracy = new AccuracyRecorder();
            new Trace(policy, accuracy, random).run();
            AccuracyRecorder.Snapshot seen = accuracy.snapshot();
            assertThat(seen.excessPermits()).isZero();
            assertThat(seen.wronglyDeniedPermits()).isZero();
            audited += seen.auditedPermits();
        }
        assertThat(audited).isPositive();
    }

    private static final class Trace {

        private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
        private final SplittableRandom random;
        private final RateLimiter limiter;
        private final List<Runnable> later = new ArrayList<>();

        Trace(RateLimitPolicy policy, AccuracyRecorder accuracy, SplittableRandom random) {
            this.random = random;
            this.limiter = RateLimiter.builder(policy)
                    .scheduler(time)
                    .recorder(accuracy)
                    .audit(4)
                    .build();
        }

        void run() {
            for (int step = 0; step < STEPS; step++) {
                String key = "key" + random.nextInt(6);
                switch (random.nextInt(14)) {
                    case 0, 1, 2 -> time.advanceTimeBy(ofMillis(random.nextInt(400)));
                    case 3 -> time.advanceTimeBy(ofNanos(random.nextInt(3)));
                    case 4, 5 -> limiter.tryAcquire(key, 1 + random.nextInt(3)).subscribe(this::mayComeBack);
                    case 6 -> waiting(key);
                    case 7, 8 -> next();
                    case 9 -> change(key);
                    case 10 -> inARun(key);
                    case 11 -> settling(key);
                    case 12 -> limiter.tryAcquireNow(key, 1);
                    default -> limiter.decideNow(key, 1);
                }
            }
            limiter.close().subscribe();
        }

        private void mayComeBack(Decision decision) {
            later.add(() -> limiter.refund(decision).subscribe());
        }

        private void waiting(String key) {
            Duration maxWait = random.nextBoolean() ? ofSeconds(100) : ofMillis(random.nextInt(2_000));
            Disposable wait =
                    limiter.acquire(key, 1 + random.nextInt(2), maxWait).subscribe(this::mayComeBack, closed -> {});
            later.add(wait::dispose);
        }

        private void inARun(String key) {
            PermitRun run = limiter.run(key, 1);
            for (long left = random.nextInt(10); left > 0 && run.tryNext(left + 3); left--) {
                limiter.decideNow(key, 1);
            }
            run.end();
        }

        private void settling(String key) {
            if (limiter.policy().settles()) {
                limiter.reserve(key, 2, ofMillis(random.nextInt(500)))
                        .subscribe(
                                reserved -> later.add(
                                        () -> reserved.settle(random.nextInt(6)).subscribe()),
                                denied -> {});
            }
        }

        private void change(String key) {
            switch (random.nextInt(6)) {
                case 0 -> limiter.reset(key).subscribe();
                case 3 -> {
                    RateLimitPolicy own =
                            policies().get(random.nextInt(policies().size()));
                    if (own.settles()) {
                        limiter.changePolicy(key, own).subscribe();
                    }
                }
                case 4 -> limiter.restorePolicy(key).subscribe();
                case 1 -> limiter.pause(key, ofMillis(random.nextInt(600))).subscribe();
                case 2 -> limiter.pause(key, Duration.ZERO).subscribe();
                default -> {
                    List<RateLimitPolicy> other = policies();
                    limiter.changePolicy(other.get(random.nextInt(other.size())))
                            .subscribe();
                }
            }
        }

        private void next() {
            if (!later.isEmpty()) {
                later.remove(random.nextInt(later.size())).run();
            }
        }
    }

    /** Too few permits for the reserve of a hot key, of which denials would be wrong. */
    static List<RateLimitPolicy> fastPolicies() {
        return List.of(
                TokenBucket.perSecond(200_000).withBurst(50),
                new Gcra(7, ofNanos(40_000), 20),
                FixedWindow.of(100, ofMillis(1)),
                SlidingWindowLog.of(50, ofMillis(1)),
                SlidingWindowCounter.of(60, ofMillis(1)),
                TokenBucket.of(20, ofMillis(1)).withBurst(50).stepwise());
    }

    @ParameterizedTest
    @MethodSource("fastPolicies")
    void threadsThatAskForOneKeyAreNoReasonToAccuse(RateLimitPolicy policy) throws InterruptedException {
        SplittableRandom seeds = new SplittableRandom(Seeds.of("threads of " + policy));
        AccuracyRecorder accuracy = new AccuracyRecorder();
        RateLimiter limiter =
                RateLimiter.builder(policy).recorder(accuracy).audit(4).build();
        CountDownLatch running = new CountDownLatch(THREADS);
        for (int i = 0; i < THREADS; i++) {
            SplittableRandom random = seeds.split();
            Schedulers.boundedElastic().schedule(() -> {
                for (int request = 0; request < REQUESTS_PER_THREAD; request++) {
                    askOnce(limiter, random);
                }
                running.countDown();
            });
        }
        assertThat(running.await(10, TimeUnit.MINUTES)).isTrue();
        AccuracyRecorder.Snapshot seen = accuracy.snapshot();
        assertThat(seen.excessPermits()).isZero();
        assertThat(seen.wronglyDeniedPermits()).isZero();
        assertThat(seen.auditedPermits()).isPositive();
        limiter.close().block();
    }

    private static void askOnce(RateLimiter limiter, SplittableRandom random) {
        switch (random.nextInt(5)) {
            case 0 -> limiter.tryAcquire("k").subscribe();
            case 1 -> limiter.tryAcquireNow("k", 1 + random.nextInt(3));
            case 2 ->
                limiter.tryAcquire("k", 2)
                        .subscribe(decision -> limiter.refund(decision).subscribe());
            case 3 -> {
                PermitRun run = limiter.run("k", 1);
                for (long left = 5; left > 0 && run.tryNext(left); left--) {}
                run.end();
            }
            default -> limiter.decideNow("k", 1);
        }
    }
}
