package io.github.reactorratelimit;

import static java.time.Duration.ofHours;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.local.SketchStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

/** The sketch keeps the contract of every store, for the policies it takes, but for reset. */
class SketchRateLimiterTest extends FullRateLimiterContract {

    @Override
    protected RateLimitStore store() {
        return SketchStore.ofBytes(1 << 16);
    }

    @Override
    protected boolean holds(RateLimitPolicy policy) {
        return policy instanceof Gcra
                || (policy instanceof TokenBucket bucket && bucket.style() == TokenBucket.Refill.CONTINUOUS);
    }

    /** The cells are others' too. */
    @Override
    @ParameterizedTest
    @MethodSource("policiesOfFive")
    void resetForgetsWhatWasSpent(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);
        assertThat(now(limiter.tryAcquire(key, 5)).allowed()).isTrue();
        limiter.pause(key, ofHours(9)).block(PATIENCE);
        limiter.reset(key).block(PATIENCE);
        Decision decision = now(limiter.tryAcquire(key));
        assertThat(decision.allowed()).isFalse();
        assertThat(decision.retryAfter().orElseThrow()).isLessThan(ofHours(9));
    }

    /** What a reset has not forgotten, a refund gives back. */
    @Override
    @ParameterizedTest
    @MethodSource("policiesOfFive")
    void debitFromBeforeTheResetIsNotRefunded(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);
        Decision before = now(limiter.tryAcquire(key, 5));
        limiter.reset(key).block(PATIENCE);
        assertThat(now(limiter.peek(key)).remaining()).isZero();
        limiter.refund(before).block(PATIENCE);
        assertThat(now(limiter.peek(key)).remaining()).isGreaterThanOrEqualTo(4);
    }

    static Stream<RateLimitPolicy> refusedPolicies() {
        return Stream.of(
                TokenBucket.perSecond(5).stepwise(),
                LeakyBucket.perSecond(5),
                WarmUp.perSecond(5, Duration.ofSeconds(1)),
                FixedWindow.of(5, Duration.ofSeconds(1)),
                SlidingWindowLog.of(5, Duration.ofSeconds(1)),
                SlidingWindowCounter.of(5, Duration.ofSeconds(1)),
                ConcurrencyLimit.of(5),
                Policies.all(Gcra.perSecond(5), Gcra.perMinute(50)));
    }

    @ParameterizedTest
    @MethodSource("refusedPolicies")
    void policyThatASketchCannotHoldIsRefusedByName(RateLimitPolicy policy) {
        assertThatThrownBy(() -> RateLimiter.builder(policy).store(store()).build())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(policy.toString())
                .hasMessageContaining("LocalStore");
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, 0, 127, 1L << 35})
    void sizeThatMakesNoSketchIsRefused(long bytes) {
        assertThatThrownBy(() -> SketchStore.ofBytes(bytes))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("bytes must be between");
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 0, 17})
    void rowsThatMakeNoSketchAreRefused(int rows) {
        SketchStore store = SketchStore.ofBytes(1 << 20);
        assertThatThrownBy(() -> store.withRows(rows)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void usageBeyondTheEstimateIsChargedAsFarAsPermitsAreAvailableIfThereIsNoDebt() {
        RateLimiter limiter = RateLimiter.builder(Gcra.of(5, ofHours(1)))
                .store(SketchStore.ofBytes(1 << 10))
                .maxDebt(0)
                .build();
        Reservation reserved = limiter.reserve("a", 2).block(PATIENCE);
        assertThat(reserved.settle(9).block(PATIENCE)).isEqualTo(new Settlement(2, 9, 4, false));
        assertThat(now(limiter.peek("a")).remaining()).isZero();
    }

    @Test
    void refundThatOthersCountOnIsLostAndCounted() {
        AtomicLong lost = new AtomicLong();
        AtomicLong refunded = new AtomicLong();
        RateLimiter limiter = RateLimiter.builder(Gcra.of(5, ofHours(1)))
                .store(SketchStore.ofBytes(128).withRows(16))
                .recorder(new RateLimitRecorder() {
                    @Override
                    public void counted(Event event, long permits) {
                        if (event == Event.REFUNDED) {
                            refunded.addAndGet(permits);
                        } else if (event == Event.REFUND_LOST) {
                            lost.addAndGet(permits);
                        }
                    }
                })
                .build();
        Decision first = now(limiter.tryAcquire("a", 2));
        Decision second = now(limiter.tryAcquire("b", 1));
        limiter.refund(first).block(PATIENCE);
        assertThat(lost).hasValue(2);
        limiter.refund(second).block(PATIENCE);
        assertThat(refunded).hasValue(1);
        assertThat(now(limiter.peek("b")).remaining()).isEqualTo(3);
    }

    /** All keys share all cells; the other key asks when the permit is there, just before the line does. */
    private static List<Decision> answersOfAWaiterThatIsOvertaken(Duration maxWait) {
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        RateLimiter limiter = RateLimiter.builder(Gcra.perSecond(1))
                .store(SketchStore.ofBytes(128).withRows(16))
                .scheduler(time)
                .build();
        List<Decision> answers = new ArrayList<>();
        List<Boolean> others = new ArrayList<>();
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("other", 1)).isTrue();
        time.schedule(() -> others.add(DirectLimiter.of(limiter).tryAcquireNow("other", 1)), 1, TimeUnit.SECONDS);
        limiter.acquire("waiter", 1, maxWait).subscribe(answers::add);
        time.advanceTimeBy(Duration.ofSeconds(1));
        assertThat(others).containsExactly(true);
        assertThat(answers).allMatch(decision -> !decision.allowed());
        time.advanceTimeBy(Duration.ofSeconds(1));
        return answers;
    }

    @Test
    void waiterWhoseCellsOthersFillGetsALaterTurn() {
        assertThat(answersOfAWaiterThatIsOvertaken(Duration.ofSeconds(2)))
                .singleElement()
                .matches(Decision::allowed);
    }

    @Test
    void waiterWhoseTurnBecomesTooLateIsDenied() {
        assertThat(answersOfAWaiterThatIsOvertaken(Duration.ofMillis(1_500)))
                .singleElement()
                .matches(decision -> !decision.allowed());
    }

    @Test
    void whatIsAnsweredAtOnceKnowsPausesLinesAndTheEnd() {
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        RateLimiter limiter = RateLimiter.builder(Gcra.perSecond(1).withBurst(2))
                .store(store())
                .scheduler(time)
                .build();
        limiter.pause("a", Duration.ofSeconds(5)).block(PATIENCE);
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("a", 1)).isFalse();
        assertThat(DirectLimiter.of(limiter).decideNow("a", 1, false).retryAfter())
                .hasValue(Duration.ofSeconds(5));
        assertThat(DirectLimiter.of(limiter).decideNow("b", 1, false).allowed()).isTrue();
        limiter.acquire("b", 2).subscribe(granted -> {}, closed -> {});
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("b", 1)).isFalse();
        assertThat(DirectLimiter.of(limiter).decideNow("b", 1, false).retryAfter())
                .hasValue(Duration.ofSeconds(2));
        limiter.close().subscribe();
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("c", 1)).isFalse();
        assertThat(DirectLimiter.of(limiter).decideNow("c", 1, false)).isNull();
    }

    @Test
    void whatWasSpentIsCarriedToANewPolicyAndCappedAtItsCapacity() {
        Gcra five = Gcra.of(5, ofHours(1));
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        LimiterState state =
                store().open(new LimiterSettings("carried", five, time, time, RateLimitRecorder.NOOP, 10, true));
        assertThat(state.decideNow(key, null, 3, LimiterState.RequestMode.SPEND))
                .isNotNull();
        Gcra ten = Gcra.of(10, ofHours(1));
        state.migrate(key, null, ten).block(PATIENCE);
        assertThat(now(state.peek(key, ten, 1)).remaining()).isEqualTo(7);
        Gcra two = Gcra.of(2, ofHours(1));
        state.migrate(key, ten, two).block(PATIENCE);
        assertThat(now(state.peek(key, two, 1)).remaining()).isZero();
    }

    @Test
    void policiesBeyondThoseThatFitAreRefused() {
        AtomicLong plan = new AtomicLong();
        RateLimiter limiter = RateLimiter.builder(Gcra.of(5, ofHours(1)))
                .store(store())
                .policyPerKey(name -> Mono.just(Gcra.of(5 + plan.incrementAndGet(), ofHours(1))), ofHours(1))
                .build();
        for (int i = 1; i < 16; i++) {
            assertThat(now(limiter.tryAcquire("key" + i)).allowed()).isTrue();
        }
        assertThatThrownBy(() -> limiter.tryAcquire("key16").block(PATIENCE))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("16 different policies");
    }
}
