package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.local.LocalStore;
import io.github.reactorratelimit.testing.Seeds;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

/** A shadow counts what its policy would deny if it ruled alone, and nobody else notices it. */
class ShadowTest {

    private static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");
    private static final int TRACES = FULL ? 5_000 : 150;
    private static final int STEPS = 150;

    /** Counts what the shadow says, apart from what is really decided. */
    static final class Counting implements RateLimitRecorder {

        final AtomicLong allowed = new AtomicLong();
        final AtomicLong denied = new AtomicLong();
        final AtomicLong shadowAllowed = new AtomicLong();
        final AtomicLong shadowDenied = new AtomicLong();
        final AtomicLong failed = new AtomicLong();

        @Override
        public void decided(boolean isAllowed, long permits) {
            (isAllowed ? allowed : denied).incrementAndGet();
        }

        @Override
        public void counted(Event event, long permits) {
            switch (event) {
                case SHADOW_ALLOWED -> shadowAllowed.incrementAndGet();
                case SHADOW_DENIED -> shadowDenied.incrementAndGet();
                case SHADOW_FAILED -> failed.incrementAndGet();
                default -> {}
            }
        }
    }

    static List<RateLimitPolicy> policies() {
        return List.of(
                TokenBucket.perSecond(5),
                TokenBucket.perSecond(3).withBurst(8).stepwise(),
                new Gcra(7, ofSeconds(3), 4),
                LeakyBucket.perSecond(4).withQueue(5),
                WarmUp.perSecond(5, ofSeconds(2)),
                FixedWindow.of(6, ofSeconds(1)),
                SlidingWindowLog.of(5, ofSeconds(1)),
                SlidingWindowCounter.of(6, ofSeconds(2)),
                Policies.all(TokenBucket.perSecond(6), FixedWindow.of(20, ofSeconds(5))));
    }

    @ParameterizedTest
    @MethodSource("policies")
    void shadowCountsWhatTheSamePolicyDeniesLiveOnTheSameTrace(RateLimitPolicy policy) {
        Random random = new Random(Seeds.of("shadow of " + policy));
        long denied = 0;
        for (int i = 0; i < TRACES; i++) {
            RateLimitPolicy live = policies().get(random.nextInt(policies().size()));
            Trace trace = new Trace(live, policy, random);
            trace.run();
            assertThat(trace.besideLive.shadowDenied.get())
                    .as("denials of the shadow beside %s", live)
                    .isEqualTo(trace.ofAlone.denied.get());
            assertThat(trace.besideLive.shadowAllowed.get()).isEqualTo(trace.ofAlone.allowed.get());
            assertThat(trace.besideLive.failed.get()).isZero();
            denied += trace.ofAlone.denied.get();
        }
        assertThat(denied).isPositive();
    }

    /** The same requests at a limiter with a shadow, and at one that has the shadow's policy alone. */
    private static final class Trace {

        final Counting besideLive = new Counting();
        final Counting ofAlone = new Counting();
        private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
        private final RateLimiter shadowed;
        private final RateLimiter alone;
        private final Random random;
        private final List<Runnable> refunds = new ArrayList<>();
        private final List<Runnable> cancels = new ArrayList<>();

        Trace(RateLimitPolicy live, RateLimitPolicy shadow, Random random) {
            this.random = random;
            this.shadowed = RateLimiter.builder(live)
                    .scheduler(time)
                    .recorder(besideLive)
                    .shadow(shadow)
                    .build();
            this.alone = RateLimiter.builder(shadow)
                    .scheduler(time)
                    .recorder(ofAlone)
                    .build();
        }

        void run() {
            for (int step = 0; step < STEPS; step++) {
                String key = "key" + random.nextInt(2);
                switch (random.nextInt(12)) {
                    case 0, 1, 2 -> time.advanceTimeBy(ofMillis(random.nextInt(400)));
                    case 3, 4 -> refundable(key);
                    case 5 -> waiting(key);
                    case 6 -> next(refunds);
                    case 7 -> next(cancels);
                    case 8 -> change(key);
                    case 9 -> settled(key);
                    default -> atOnce(key);
                }
            }
            shadowed.close().subscribe();
            alone.close().subscribe();
        }

        private void atOnce(String key) {
            if (random.nextBoolean()) {
                DirectLimiter.of(shadowed).decideNow(key, 1, false);
            } else if (!DirectLimiter.of(shadowed).tryAcquireNow(key, 1)) {
                shadowed.tryAcquire(key, 1).subscribe();
            }
            alone.tryAcquire(key, 1).subscribe();
        }

        private void refundable(String key) {
            long permits = 1 + random.nextInt(3);
            shadowed.tryAcquire(key, permits)
                    .subscribe(live -> alone.tryAcquire(key, permits).subscribe(other -> {
                        if (live.allowed()) {
                            refunds.add(() -> {
                                shadowed.refund(live).subscribe();
                                alone.refund(other).subscribe();
                            });
                        }
                    }));
        }

        /** What is settled for less comes back of the shadow's permits too. */
        private void settled(String key) {
            if (!shadowed.policy().settles() || !alone.policy().settles()) {
                return;
            }
            long estimate = 1 + random.nextInt(3);
            Reservation[] made = new Reservation[2];
            shadowed.reserve(key, estimate, Duration.ZERO).subscribe(live -> made[0] = live, denied -> {});
            alone.reserve(key, estimate, Duration.ZERO).subscribe(other -> made[1] = other, denied -> {});
            long actual = random.nextInt((int) estimate + 1);
            refunds.add(() -> {
                if (made[0] != null) {
                    made[0].settle(actual).subscribe();
                    if (made[1] != null) {
                        made[1].settle(actual).subscribe();
                    }
                }
            });
        }

        /** Whoever leaves the line leaves the shadow's permits too. */
        private void waiting(String key) {
            Decision[] granted = new Decision[1];
            Disposable wait = shadowed.acquire(key, 1, ofSeconds(random.nextInt(3)))
                    .subscribe(decision -> granted[0] = decision, closed -> {});
            alone.tryAcquire(key, 1)
                    .subscribe(other -> cancels.add(() -> {
                        if (granted[0] == null) {
                            wait.dispose();
                            alone.refund(other).subscribe();
                        }
                    }));
        }

        private void change(String key) {
            boolean reset = random.nextBoolean();
            for (RateLimiter limiter : List.of(shadowed, alone)) {
                (reset ? limiter.reset(key) : limiter.pause(key, ofMillis(300))).subscribe();
            }
        }

        private void next(List<Runnable> actions) {
            if (!actions.isEmpty()) {
                actions.remove(random.nextInt(actions.size())).run();
            }
        }
    }

    @Test
    void liveDecisionsAreTheSameWithAShadow() {
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        RateLimiter shadowed = RateLimiter.builder(TokenBucket.perSecond(2))
                .scheduler(time)
                .recorder(new Counting())
                .shadow(TokenBucket.perHour(1))
                .build();
        assertThat(shadowed.tryAcquire("a").block().remaining()).isOne();
        assertThat(DirectLimiter.of(shadowed).tryAcquireNow("a", 1)).isTrue();
        assertThat(DirectLimiter.of(shadowed).decideNow("a", 1, false).allowed())
                .isFalse();
    }

    @Test
    void requestAboveTheShadowsCapacityCountsAsDenied() {
        Counting counting = new Counting();
        RateLimiter shadowed = RateLimiter.builder(TokenBucket.perSecond(10))
                .recorder(counting)
                .shadow(TokenBucket.perSecond(2))
                .build();
        assertThat(shadowed.tryAcquire("a", 3).block().allowed()).isTrue();
        assertThat(DirectLimiter.of(shadowed).tryAcquireNow("a", 3)).isTrue();
        assertThat(counting.shadowDenied).hasValue(2);
    }

    /** Every call of the shadow's state throws, signals an error, or never answers. */
    private static RateLimitStore withShadow(InvocationHandler calls) {
        return settings -> settings.name().endsWith(".shadow")
                ? (LimiterState) Proxy.newProxyInstance(
                        LimiterState.class.getClassLoader(), new Class<?>[] {LimiterState.class}, calls)
                : LocalStore.create().open(settings);
    }

    static List<InvocationHandler> brokenShadows() {
        return List.of(
                (proxy, method, args) -> {
                    throw new IllegalStateException("broken");
                },
                (proxy, method, args) -> answer(method, Mono.error(new IllegalStateException("broken"))),
                (proxy, method, args) -> answer(method, Mono.never()));
    }

    private static Object answer(Method method, Mono<?> answer) {
        return method.getReturnType() == Mono.class ? answer : method.getReturnType() == boolean.class ? false : null;
    }

    @ParameterizedTest
    @MethodSource("brokenShadows")
    void liveLimiterNeverNoticesABrokenShadow(InvocationHandler calls) {
        Counting counting = new Counting();
        RateLimiter limiter = RateLimiter.builder(TokenBucket.of(4, Duration.ofHours(1)))
                .store(withShadow(calls))
                .recorder(counting)
                .shadow(TokenBucket.perSecond(1))
                .build();
        Decision first = limiter.tryAcquire("a").block();
        limiter.refund(first).block();
        assertThat(limiter.acquire("a").block().allowed()).isTrue();
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("a", 1)).isTrue();
        assertThat(DirectLimiter.of(limiter).decideNow("a", 1, false).allowed()).isTrue();
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("a", 1)).isTrue();
        assertThat(limiter.tryAcquire("a").block().allowed()).isFalse();
        limiter.reset("a").block();
        limiter.pause("a", Duration.ZERO).block();
        assertThat(limiter.tryAcquire("a").block().allowed()).isTrue();
        assertThat(counting.shadowAllowed.get() + counting.shadowDenied.get()).isZero();
    }

    @Test
    void shadowWithoutARecorderIsRefused() {
        RateLimiterBuilder builder =
                RateLimiter.builder(TokenBucket.perSecond(1)).shadow(TokenBucket.perSecond(2));
        assertThatThrownBy(builder::build)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("recorder");
    }

    @Test
    void concurrencyLimitIsRefusedAsAShadow() {
        assertThatThrownBy(() -> RateLimiter.builder(TokenBucket.perSecond(1)).shadow(ConcurrencyLimit.of(2)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("ConcurrencyLimit");
    }
}
