package io.github.reactorratelimit;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.local.LocalStore;
import io.github.reactorratelimit.sketch.SketchStore;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntPredicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

/** An audit finds what a store gives too much and what it denies wrongly, to the permit. In virtual time. */
class AuditTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final AccuracyRecorder accuracy = new AccuracyRecorder();

    private RateLimiter limiter(RateLimitPolicy policy, RateLimitStore store) {
        return RateLimiter.builder(policy)
                .scheduler(time)
                .store(store)
                .recorder(accuracy)
                .audit(1_000)
                .build();
    }

    private long excess() {
        return accuracy.snapshot().excessPermits();
    }

    private long wronglyDenied() {
        return accuracy.snapshot().wronglyDeniedPermits();
    }

    /** A store that gives the next {@code gifts} permits away that it should deny. */
    private static final class Generous extends WrappedState {

        private final AtomicInteger gifts;

        Generous(LimiterState live, AtomicInteger gifts) {
            super(live);
            this.gifts = gifts;
        }

        static RateLimitStore of(AtomicInteger gifts) {
            return settings -> new Generous(LocalStore.create().open(settings), gifts);
        }

        private boolean gives(boolean allowed) {
            return allowed || gifts.getAndUpdate(left -> Math.max(0, left - 1)) > 0;
        }

        @Override
        public boolean tryAcquireNow(String key, RateLimitPolicy policy, long permits) {
            return gives(live.tryAcquireNow(key, policy, permits));
        }

        @Override
        public Verdict decideNow(String key, RateLimitPolicy policy, long permits) {
            Verdict verdict = live.decideNow(key, policy, permits);
            return gives(verdict == Verdict.TAKEN) ? Verdict.TAKEN : verdict;
        }

        @Override
        public Mono<Decision> evaluate(String key, RateLimitPolicy policy, long permits) {
            return live.evaluate(key, policy, permits).map(decision -> given(key, policy, decision));
        }

        @Override
        public Mono<Decision> await(String key, RateLimitPolicy policy, long permits, long maxWaitNanos) {
            return live.await(key, policy, permits, maxWaitNanos).map(decision -> given(key, policy, decision));
        }

        private Decision given(String key, RateLimitPolicy policy, Decision decision) {
            if (decision.allowed() || !gives(false)) {
                return decision;
            }
            Decision.Quota nothing = new Decision.Quota(policy.capacity(), 0, Decision.Quota.UNKNOWN);
            return Decision.allow(policy, nothing, new Debit(this, key, policy, decision.permits(), 0));
        }

        @Override
        void answeredTogether(JointState.Take take, Decision decision, boolean kept) {}
    }

    /** A store that denies what it is told to deny, by the number of the request. */
    private static final class Stingy extends WrappedState {

        private final IntPredicate denies;
        private final AtomicInteger asked = new AtomicInteger();

        Stingy(LimiterState live, IntPredicate denies) {
            super(live);
            this.denies = denies;
        }

        static RateLimitStore of(IntPredicate denies) {
            return settings -> new Stingy(LocalStore.create().open(settings), denies);
        }

        @Override
        public boolean tryAcquireNow(String key, RateLimitPolicy policy, long permits) {
            return false;
        }

        @Override
        public Mono<Decision> evaluate(String key, RateLimitPolicy policy, long permits) {
            return denies.test(asked.getAndIncrement())
                    ? Mono.just(Decision.deny(policy, permits, new Decision.Quota(policy.capacity(), 0, 1), 1))
                    : live.evaluate(key, policy, permits);
        }

        @Override
        public Mono<Decision> await(String key, RateLimitPolicy policy, long permits, long maxWaitNanos) {
            return live.await(key, policy, permits, maxWaitNanos);
        }

        @Override
        void answeredTogether(JointState.Take take, Decision decision, boolean kept) {}
    }

    /** The ways to ask. */
    enum Way {
        TRY {
            @Override
            void ask(RateLimiter limiter) {
                limiter.tryAcquire("k").block();
            }
        },
        NOW {
            @Override
            void ask(RateLimiter limiter) {
                limiter.tryAcquireNow("k", 1);
            }
        },
        DECIDE {
            @Override
            void ask(RateLimiter limiter) {
                limiter.decideNow("k", 1);
            }
        },
        WAIT {
            @Override
            void ask(RateLimiter limiter) {
                limiter.acquire("k", 1, ofMillis(1)).block();
            }
        },
        RUN {
            @Override
            void ask(RateLimiter limiter) {
                PermitRun run = limiter.run("k", 1);
                run.tryNext(1);
                run.end();
            }
        };

        abstract void ask(RateLimiter limiter);
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void whatIsGivenBeyondThePolicyIsCountedToThePermit(Way way) {
        AtomicInteger gifts = new AtomicInteger();
        RateLimiter limiter = limiter(TokenBucket.perSecond(10), Generous.of(gifts));
        for (int i = 0; i < 20; i++) {
            way.ask(limiter);
        }
        assertThat(accuracy.snapshot().auditedPermits()).isEqualTo(10);
        assertThat(excess()).isZero();
        gifts.set(3);
        for (int i = 0; i < 20; i++) {
            way.ask(limiter);
        }
        assertThat(accuracy.snapshot().auditedPermits()).isEqualTo(13);
        assertThat(excess()).isEqualTo(3);
        time.advanceTimeBy(ofMillis(500));
        gifts.set(2);
        for (int i = 0; i < 20; i++) {
            way.ask(limiter);
        }
        assertThat(accuracy.snapshot().auditedPermits()).isEqualTo(13 + 5 + 2);
        assertThat(excess()).as("what flowed back is no excess").isEqualTo(3 + 2);
        assertThat(wronglyDenied()).isZero();
    }

    /** How much each may give at once, which the audit knows. */
    static List<RateLimitPolicy> burstsOfTwelve() {
        return List.of(
                TokenBucket.perSecond(12),
                new TokenBucket(8, 4, ofSeconds(1)).stepwise(),
                new Gcra(7, ofSeconds(3), 12),
                FixedWindow.of(6, ofSeconds(1)),
                SlidingWindowLog.of(12, ofSeconds(1)),
                SlidingWindowCounter.of(6, ofSeconds(1)),
                Policies.all(TokenBucket.perSecond(50), SlidingWindowLog.of(12, ofSeconds(5))));
    }

    @ParameterizedTest
    @MethodSource("burstsOfTwelve")
    void everyPolicyIsHeldToTheBurstOfItsWorstCase(RateLimitPolicy policy) {
        AtomicInteger gifts = new AtomicInteger(Integer.MAX_VALUE);
        RateLimiter limiter = limiter(policy, Generous.of(gifts));
        for (int i = 0; i < 12; i++) {
            limiter.tryAcquire("k").block();
        }
        assertThat(excess()).isZero();
        for (int i = 1; i <= 7; i++) {
            limiter.tryAcquire("k").block();
            assertThat(excess()).isEqualTo(i);
        }
    }

    @Test
    void permitsThatCameBackMayBeGivenAgain() {
        RateLimiter limiter = limiter(TokenBucket.perHour(4), Generous.of(new AtomicInteger(4)));
        Decision four = limiter.tryAcquire("k", 4).block();
        limiter.refund(four).block();
        limiter.tryAcquire("k", 4).block();
        assertThat(excess()).isZero();
        limiter.tryAcquire("k", 4).block();
        assertThat(excess()).isEqualTo(4);
    }

    @Test
    void keyThatWasResetMayBeGivenEverythingAnew() {
        RateLimiter limiter = limiter(TokenBucket.perHour(4), Generous.of(new AtomicInteger(1)));
        limiter.tryAcquire("k", 4).block();
        limiter.reset("k").block();
        limiter.tryAcquire("k", 4).block();
        assertThat(excess()).isZero();
        limiter.tryAcquire("k", 1).block();
        assertThat(excess()).isOne();
    }

    @Test
    void excessIsToldUnderThePolicyThatRules() {
        AtomicInteger gifts = new AtomicInteger();
        RateLimiter limiter = limiter(TokenBucket.perHour(2), Generous.of(gifts));
        limiter.tryAcquire("k", 2).block();
        limiter.changePolicy(TokenBucket.perHour(100)).block();
        gifts.set(1_000);
        limiter.tryAcquire("k", 1).block();
        limiter.tryAcquire("k", 100).block();
        assertThat(excess()).isZero();
        limiter.tryAcquire("k", 5).block();
        assertThat(excess()).isEqualTo(5);
    }

    @Test
    void keyWithAPolicyOfItsOwnIsJudgedByIt() {
        RateLimiter limiter = limiter(TokenBucket.perHour(10), LocalStore.create());
        limiter.changePolicy("more", TokenBucket.perHour(1_000)).block();
        limiter.changePolicy("less", TokenBucket.perHour(1)).block();
        for (int i = 0; i < 100; i++) {
            assertThat(limiter.tryAcquireNow("more", 1)).isTrue();
        }
        for (int i = 0; i < 5; i++) {
            assertThat(limiter.tryAcquire("less").block().allowed()).isEqualTo(i == 0);
        }
        assertThat(excess()).isZero();
        assertThat(wronglyDenied()).isZero();
        limiter.restorePolicy("more").block();
        assertThat(limiter.tryAcquireNow("more", 1)).isFalse();
        assertThat(wronglyDenied()).isZero();
    }

    @Test
    void nobodyChoosesKeysThatAreAllAudited() {
        RateLimiter limiter = RateLimiter.builder(TokenBucket.perHour(10))
                .scheduler(time)
                .recorder(accuracy)
                .audit(16)
                .build();
        StringBuilder hashesToZero = new StringBuilder();
        for (int i = 0; i < 1_000; i++) {
            hashesToZero.append('\0');
            limiter.tryAcquireNow(hashesToZero.toString(), 1);
        }
        assertThat(accuracy.snapshot().auditedPermits()).isPositive().isLessThan(1_000);
        assertThat(excess()).isZero();
    }

    /** A store whose resets fail, though they happen. */
    private static final class Unsure extends PassingState {

        Unsure(LimiterState live) {
            super(live);
        }

        @Override
        public Mono<Void> reset(String key, RateLimitPolicy policy) {
            return live.reset(key, policy).then(Mono.error(new IllegalStateException("lost")));
        }
    }

    @Test
    void nothingIsSaidAboutAKeyThatMayHaveBeenChanged() {
        RateLimiter limiter = limiter(
                TokenBucket.perHour(4),
                settings -> new Unsure(LocalStore.create().open(settings)));
        limiter.tryAcquire("k", 4).block();
        limiter.reset("k").onErrorComplete().block();
        limiter.tryAcquire("k", 4).block();
        limiter.tryAcquire("k", 4).block();
        assertThat(excess()).isZero();
        assertThat(accuracy.snapshot().auditedPermits()).isEqualTo(4);
    }

    @Test
    void whatIsDeniedThoughItIsThereIsCountedToThePermit() {
        RateLimiter limiter = limiter(TokenBucket.perSecond(10), Stingy.of(i -> i == 0 || i == 3 || i == 4));
        limiter.tryAcquire("k", 2).block();
        assertThat(wronglyDenied()).as("denied at first sight").isEqualTo(2);
        limiter.tryAcquire("k", 4).block();
        limiter.tryAcquire("k", 4).block();
        limiter.tryAcquire("k", 3).block();
        assertThat(wronglyDenied()).as("only two are left").isEqualTo(2);
        limiter.tryAcquire("k", 2).block();
        assertThat(wronglyDenied()).isEqualTo(4);
        limiter.tryAcquire("k", 2).block();
        limiter.tryAcquire("k", 1).block();
        assertThat(accuracy.snapshot().auditedDenials()).isEqualTo(2 + 3 + 2 + 1);
        assertThat(wronglyDenied()).as("nothing is left").isEqualTo(4);
        assertThat(excess()).isZero();
    }

    @Test
    void keyThatIsPausedIsRightlyDenied() {
        RateLimiter limiter = limiter(TokenBucket.perSecond(10), LocalStore.create());
        limiter.pause("k", ofSeconds(1)).block();
        assertThat(limiter.tryAcquire("k").block().allowed()).isFalse();
        assertThat(wronglyDenied()).isZero();
        assertThat(excess()).isZero();
    }

    @Test
    void debtIsNoReasonToAccuse() {
        RateLimiter limiter = limiter(FixedWindow.of(10, ofSeconds(1)).fromFirstRequest(), LocalStore.create());
        limiter.reserve("k", 10, ZERO).block().settle(20).block();
        for (int i = 0; i < 100; i++) {
            time.advanceTimeBy(ofMillis(100));
            limiter.tryAcquire("k", 10).block();
        }
        assertThat(wronglyDenied()).isZero();
        assertThat(excess()).isZero();
    }

    /** Each key asks once: whatever a sketch denies it denies because of others. */
    @Test
    void sketchThatIsTooSmallIsSeenToDenyWrongly() {
        int keys = 2_000;
        RateLimiter limiter = RateLimiter.builder(TokenBucket.perHour(1))
                .scheduler(time)
                .store(SketchStore.ofBytes(1_024))
                .recorder(accuracy)
                .audit(2 * keys)
                .build();
        long denied = 0;
        for (int i = 0; i < keys; i++) {
            denied += limiter.tryAcquire("key" + i).block().allowed() ? 0 : 1;
        }
        assertThat(denied).isPositive();
        assertThat(wronglyDenied()).isEqualTo(denied);
        assertThat(accuracy.snapshot().auditedPermits()).isEqualTo(keys - denied);
        assertThat(excess()).isZero();
    }

    /** Keys past the bound share cells: some are denied for what others spent. */
    @Test
    void overflowCellsAreSeenToDenyWrongly() {
        int keys = 5_000;
        RateLimiter limiter = RateLimiter.builder(TokenBucket.perHour(1))
                .scheduler(time)
                .store(LocalStore.withMaxKeys(16))
                .recorder(accuracy)
                .audit(2 * keys)
                .build();
        long denied = 0;
        for (int i = 0; i < keys; i++) {
            denied += limiter.tryAcquire("key" + i).block().allowed() ? 0 : 1;
        }
        assertThat(denied).isPositive();
        assertThat(wronglyDenied()).isEqualTo(denied);
        assertThat(excess()).isZero();
    }

    @Test
    void storeThatOthersUseIsNotAccusedOfDenials() {
        RateLimitStore shared = settings -> new Shared(Stingy.of(i -> true).open(settings));
        limiter(TokenBucket.perSecond(10), shared).tryAcquire("k").block();
        assertThat(accuracy.snapshot().auditedDenials()).isZero();
    }

    private static final class Shared extends PassingState {

        Shared(LimiterState live) {
            super(live);
        }

        @Override
        public boolean isShared() {
            return true;
        }
    }

    @Test
    void noMoreKeysAreHeldThanWereAskedFor() {
        LimiterSettings settings = new LimiterSettings("bounded", TokenBucket.perHour(5), time, time, accuracy, 10);
        AuditedKeys keys = new AuditedKeys(16, settings, LocalStore.create().open(settings), String::hashCode);
        for (int i = 0; i < 10_000; i++) {
            AuditedKey.Ask ask = keys.begin("key" + i, TokenBucket.perHour(5), 1, 1);
            if (ask != null) {
                ask.end(AuditedKey.Outcome.ALLOWED);
            }
            assertThat(keys.size()).isLessThanOrEqualTo(16);
        }
        assertThat(keys.size()).as("the audit goes on").isPositive();
    }

    @Test
    void keysThatHaveRecoveredMakeRoomForOthers() {
        RateLimiter limiter = RateLimiter.builder(TokenBucket.perSecond(10))
                .scheduler(time)
                .recorder(accuracy)
                .audit(4)
                .build();
        for (int i = 0; i < 500; i++) {
            limiter.tryAcquire("key" + i).block();
            time.advanceTimeBy(ofSeconds(1));
        }
        assertThat(accuracy.snapshot().auditedPermits()).isEqualTo(500);
    }

    @Test
    void auditWithoutARecorderIsRefused() {
        RateLimiterBuilder unheard =
                RateLimiter.builder(TokenBucket.perSecond(1)).audit(4);
        assertThatThrownBy(unheard::build)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("recorder");
        assertThatThrownBy(() -> unheard.audit(3))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("keys must be at least 4, was 3");
    }
}
