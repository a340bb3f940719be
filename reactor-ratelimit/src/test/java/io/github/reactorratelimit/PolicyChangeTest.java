package io.github.reactorratelimit;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.local.LocalStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Policies that change while keys are in use, in this process and in virtual time. */
class PolicyChangeTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final List<String> events = new ArrayList<>();

    @AfterEach
    void dispose() {
        time.dispose();
    }

    private RateLimiter limiter(RateLimitPolicy policy) {
        return RateLimiter.builder(policy).scheduler(time).build();
    }

    private static <T> T now(Mono<T> answer) {
        return answer.toFuture().join();
    }

    private static void change(RateLimiter limiter, RateLimitPolicy policy) {
        limiter.changePolicy(policy).toFuture().join();
    }

    private static long remaining(RateLimiter limiter, String key) {
        return now(limiter.peek(key)).remaining();
    }

    private void wait(RateLimiter limiter, String name, long permits, Duration maxWait) {
        limiter.acquire("k", permits, maxWait)
                .subscribe(
                        decision -> happened(name + (decision.allowed() ? " left" : " denied")),
                        error -> happened(name + " " + error.getClass().getSimpleName()));
    }

    private void happened(String what) {
        events.add(what + " at " + time.now(TimeUnit.MILLISECONDS));
    }

    @Test
    void whatWasSpentIsKept() {
        RateLimiter limiter = limiter(TokenBucket.of(10, ofHours(1)));
        now(limiter.tryAcquire("k", 7));
        change(limiter, TokenBucket.of(100, ofHours(1)));
        assertThat(remaining(limiter, "k")).isEqualTo(93);
        assertThat(remaining(limiter, "never seen")).isEqualTo(100);
        assertThat(limiter.policy()).isEqualTo(TokenBucket.of(100, ofHours(1)));
    }

    @Test
    void whatWasSpentIsCappedAtTheNewCapacity() {
        RateLimiter limiter = limiter(TokenBucket.of(100, ofHours(1)));
        now(limiter.tryAcquire("k", 50));
        change(limiter, TokenBucket.of(10, ofHours(1)));
        Decision decision = now(limiter.tryAcquire("k"));
        assertThat(decision.allowed()).isFalse();
        assertThat(decision.retryAfter()).contains(ofHours(1).dividedBy(10));
    }

    @Test
    void whatWasSpentRecoversAtTheNewRateFromTheChangeOnWheneverTheKeyComes() {
        RateLimiter limiter = limiter(TokenBucket.of(10, ofSeconds(10)));
        now(limiter.tryAcquire("k", 10));
        change(limiter, TokenBucket.of(10, ofSeconds(1000)));
        time.advanceTimeBy(ofSeconds(300));
        assertThat(remaining(limiter, "k")).isEqualTo(3);
    }

    @Test
    void whatWasSpentOneAfterTheOtherUnderManyPoliciesIsKept() {
        RateLimiter limiter = limiter(TokenBucket.of(1000, ofDays(1)));
        List<String> keys = IntStream.range(0, 50).mapToObj(i -> "k" + i).toList();
        for (int round = 1; round <= 12; round++) {
            String mine = keys.get(round);
            keys.forEach(key -> now(limiter.tryAcquire(key)));
            now(limiter.tryAcquire(mine, 10));
            change(limiter, TokenBucket.of(1000 + round, ofDays(1)));
        }
        assertThat(remaining(limiter, "k0")).isEqualTo(1012 - 12);
        assertThat(remaining(limiter, "k5")).isEqualTo(1012 - 22);
    }

    @Test
    void keyThatWasResetInheritsNothing() {
        RateLimiter limiter = limiter(TokenBucket.of(10, ofHours(1)));
        now(limiter.tryAcquire("k", 10));
        now(limiter.tryAcquire("l", 10));
        change(limiter, TokenBucket.of(20, ofHours(1)));
        limiter.reset("k").toFuture().join();
        assertThat(remaining(limiter, "k")).isEqualTo(20);
        assertThat(remaining(limiter, "l")).isEqualTo(10);
    }

    @Test
    void eachPartOfACompositeKeepsItsOwn() {
        RateLimiter limiter = limiter(Policies.all(TokenBucket.of(10, ofSeconds(1)), TokenBucket.of(1000, ofHours(1))));
        for (int i = 0; i < 50; i++) {
            now(limiter.tryAcquire("k", 10));
            time.advanceTimeBy(ofSeconds(1));
        }
        change(limiter, Policies.all(TokenBucket.of(20, ofSeconds(1)), TokenBucket.of(600, ofHours(1))));
        assertThat(remaining(limiter, "k")).isEqualTo(20);
        for (int i = 0; i < 5; i++) {
            assertThat(now(limiter.tryAcquire("k", 20)).allowed()).isTrue();
            time.advanceTimeBy(ofSeconds(1));
        }
        Decision decision = now(limiter.tryAcquire("k", 20));
        assertThat(decision.allowed()).isFalse();
        assertThat(decision.policy()).isEqualTo(TokenBucket.of(600, ofHours(1)));
    }

    @Test
    void keyThatFindsNoRoomIsDeniedUntilWhatItSpentHasRecovered() {
        RateLimiter limiter = RateLimiter.builder(TokenBucket.of(10, ofSeconds(10)))
                .scheduler(time)
                .store(LocalStore.withMaxKeys(2))
                .build();
        List.of("a", "b", "k").forEach(key -> now(limiter.tryAcquire(key, 10)));
        change(limiter, TokenBucket.of(20, ofSeconds(10)));
        now(limiter.tryAcquire("a", 10));
        now(limiter.tryAcquire("b", 10));
        Decision decision = now(limiter.tryAcquire("k"));
        assertThat(decision.allowed()).isFalse();
        time.advanceTimeBy(decision.retryAfter().orElseThrow());
        assertThat(now(limiter.tryAcquire("k")).allowed()).isTrue();
    }

    @Test
    void waitersLeaveAtTheTimesOfTheNewPolicy() {
        RateLimiter limiter = limiter(TokenBucket.of(1, ofSeconds(1)));
        now(limiter.tryAcquire("k"));
        IntStream.range(0, 4).forEach(i -> wait(limiter, "w" + i, 1, ofHours(1)));
        time.advanceTimeBy(ofMillis(1_000));
        change(limiter, TokenBucket.of(1, ofMillis(100)));
        time.advanceTimeBy(ofMillis(200));
        change(limiter, TokenBucket.of(1, ofSeconds(5)));
        time.advanceTimeBy(ofSeconds(10));
        assertThat(events).containsExactly("w0 left at 1000", "w1 left at 1100", "w2 left at 1200", "w3 left at 6200");
    }

    @Test
    void waitersWhoseTurnComesTooLateNowAreDenied() {
        RateLimiter limiter = limiter(LeakyBucket.of(10, ofSeconds(1)).withQueue(10));
        IntStream.range(0, 4).forEach(i -> wait(limiter, "w" + i, 1, ofMillis(500)));
        change(limiter, LeakyBucket.of(1, ofSeconds(1)).withQueue(10));
        time.advanceTimeBy(ofSeconds(3));
        assertThat(events).containsExactly("w0 left at 0", "w1 denied at 0", "w2 denied at 0", "w3 denied at 0");
    }

    @Test
    void waitersOfALeakyBucketLeaveAtTheNewRateFromTheChangeOn() {
        RateLimiter limiter = limiter(LeakyBucket.of(10, ofSeconds(1)).withQueue(100));
        IntStream.range(0, 4).forEach(i -> wait(limiter, "w" + i, 1, ofHours(1)));
        time.advanceTimeBy(ofMillis(100));
        change(limiter, LeakyBucket.of(5, ofSeconds(1)).withQueue(100));
        time.advanceTimeBy(ofSeconds(10));
        assertThat(events).containsExactly("w0 left at 0", "w1 left at 100", "w2 left at 300", "w3 left at 500");
    }

    @Test
    void waitersWhoAskForMoreThanTheNewCapacityFail() {
        RateLimiter limiter = limiter(TokenBucket.of(10, ofSeconds(10)));
        now(limiter.tryAcquire("k", 10));
        wait(limiter, "large", 8, ofHours(1));
        wait(limiter, "small", 1, ofHours(1));
        change(limiter, TokenBucket.of(5, ofSeconds(5)));
        time.advanceTimeBy(ofSeconds(10));
        assertThat(events).containsExactly("large PermitsExceedCapacityException at 0", "small left at 1000");
        assertThatThrownBy(() -> now(limiter.tryAcquire("k", 8)))
                .hasCauseInstanceOf(PermitsExceedCapacityException.class);
    }

    @Test
    void refundOfWhatWasTakenBeforeIsLost() {
        RateLimiter limiter = limiter(TokenBucket.of(10, ofHours(1)));
        Decision before = now(limiter.tryAcquire("k", 5));
        change(limiter, TokenBucket.of(20, ofHours(1)));
        Decision after = now(limiter.tryAcquire("k", 5));
        now(limiter.refund(before));
        assertThat(remaining(limiter, "k")).isEqualTo(10);
        now(limiter.refund(after));
        assertThat(remaining(limiter, "k")).isEqualTo(15);
        change(limiter, TokenBucket.of(10, ofHours(1)));
        Decision returned = now(limiter.tryAcquire("k", 2));
        assertThat(remaining(limiter, "k")).isEqualTo(3);
        now(limiter.refund(returned));
        assertThat(remaining(limiter, "k")).isEqualTo(5);
    }

    @Test
    void concurrencyLimitKeepsWhatIsInFlightAlsoAboveALowerLimit() {
        RateLimiter limiter = limiter(ConcurrencyLimit.of(3));
        List<Lease> held = IntStream.range(0, 3)
                .mapToObj(i -> now(limiter.acquireLease("k", 1, Duration.ZERO)))
                .toList();
        change(limiter, ConcurrencyLimit.of(2));
        assertThat(remaining(limiter, "k")).isZero();
        now(held.get(0).release());
        assertThat(remaining(limiter, "k")).isZero();
        now(held.get(1).release());
        assertThat(remaining(limiter, "k")).isEqualTo(1);
        change(limiter, ConcurrencyLimit.of(5));
        assertThat(remaining(limiter, "k")).isEqualTo(4);
    }

    @Test
    void higherConcurrencyLimitLetsWaitersGo() {
        RateLimiter limiter = limiter(ConcurrencyLimit.of(1));
        now(limiter.acquireLease("k", 1, Duration.ZERO));
        limiter.acquireLease("k", 1, ofHours(1)).subscribe(lease -> happened("granted"));
        change(limiter, ConcurrencyLimit.of(2));
        time.advanceTime();
        assertThat(events).containsExactly("granted at 0");
    }

    @Test
    void changeBetweenAConcurrencyLimitAndAnotherPolicyIsRefused() {
        RateLimiter limiter = limiter(ConcurrencyLimit.of(1));
        assertThatThrownBy(() -> change(limiter, TokenBucket.of(1, ofSeconds(1))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("policy must be a ConcurrencyLimit");
        assertThatThrownBy(() -> limiter.changePolicy(null))
                .isInstanceOf(NullPointerException.class)
                .hasMessage("policy");
    }

    @Test
    void keysWithAPolicyOfTheirOwnKeepIt() {
        RateLimitPolicy vip = TokenBucket.of(500, ofHours(1));
        RateLimiter limiter = RateLimiter.builder(TokenBucket.of(10, ofHours(1)))
                .scheduler(time)
                .policyPerKey(key -> key.equals("vip") ? Mono.just(vip) : Mono.empty(), ofHours(1))
                .build();
        now(limiter.tryAcquire("vip", 100));
        now(limiter.tryAcquire("k", 4));
        change(limiter, TokenBucket.of(30, ofHours(1)));
        assertThat(remaining(limiter, "vip")).isEqualTo(400);
        assertThat(remaining(limiter, "k")).isEqualTo(26);
    }

    @Test
    void waiterOfAKeyWithoutRoomLeavesWhenWhatItSpentHasRecovered() {
        RateLimiter limiter = RateLimiter.builder(TokenBucket.of(100, ofHours(1)))
                .scheduler(time)
                .store(LocalStore.withMaxKeys(2))
                .build();
        List.of("a", "b", "k", "k").forEach(key -> now(limiter.tryAcquire(key)));
        change(limiter, TokenBucket.of(101, ofHours(1)));
        List.of("a", "b").forEach(key -> now(limiter.tryAcquire(key)));
        assertThat(now(limiter.peek("k")).allowed()).isFalse();
        wait(limiter, "waiter", 1, ofHours(1));
        time.advanceTimeBy(ofSeconds(120));
        assertThat(events).hasSize(1).allMatch(event -> event.startsWith("waiter left at "));
    }

    @Test
    void manyChangesWhileKeysShareCellsKeepOnlyOneTableBefore() {
        RateLimiter limiter = RateLimiter.builder(TokenBucket.of(10, ofDays(1)))
                .scheduler(time)
                .store(LocalStore.withMaxKeys(1))
                .build();
        List<String> keys = IntStream.range(0, 6).mapToObj(i -> "k" + i).toList();
        keys.forEach(key -> now(limiter.tryAcquire(key, 10)));
        for (int i = 0; i < 5_000; i++) {
            change(limiter, TokenBucket.of(10 + i % 2, ofDays(1)));
        }
        keys.forEach(
                key -> assertThat(now(limiter.tryAcquire(key, 10)).allowed()).isFalse());
        time.advanceTimeBy(ofDays(1));
        keys.forEach(key -> assertThat(now(limiter.tryAcquire(key)).allowed()).isTrue());
    }

    @Test
    void policyThatKeysAreLookedUpWithIsNeverTakenForOneOfTheirOwn() {
        RateLimiter limiter = RateLimiter.builder(TokenBucket.of(1_000, ofHours(1)))
                .scheduler(time)
                .policyPerKey(key -> Mono.empty(), ofMillis(1))
                .build();
        for (int i = 0; i < 1_200; i++) {
            change(limiter, TokenBucket.of(2_000 + i, ofHours(1)));
        }
        change(limiter, TokenBucket.of(1, ofHours(1)));
        time.advanceTimeBy(ofSeconds(1));
        assertThat(now(limiter.tryAcquire("k")).allowed()).isTrue();
        assertThat(now(limiter.tryAcquire("k")).allowed()).isFalse();
    }

    @Test
    void debtsAreKept() {
        RateLimiter limiter = RateLimiter.builder(TokenBucket.of(10, ofHours(1)))
                .scheduler(time)
                .maxDebt(1_000)
                .build();
        now(now(limiter.reserve("k", 1)).settle(500));
        change(limiter, TokenBucket.of(1_000, ofHours(1)));
        assertThat(remaining(limiter, "k")).isEqualTo(500);
    }

    @Test
    void resetOfOneKeyLeavesOthersWhatTheySpent() {
        RateLimiter limiter = RateLimiter.builder(TokenBucket.of(10, ofSeconds(10)))
                .scheduler(time)
                .store(LocalStore.withMaxKeys(2))
                .build();
        now(limiter.tryAcquire("k", 10));
        now(limiter.tryAcquire("l"));
        now(limiter.tryAcquire("x"));
        change(limiter, TokenBucket.of(10, ofDays(1)));
        time.advanceTimeBy(ofSeconds(60));
        IntStream.range(0, 5).forEach(i -> limiter.reset("x").toFuture().join());
        assertThat(remaining(limiter, "k")).isZero();
        assertThat(remaining(limiter, "x")).isEqualTo(10);
    }

    @Test
    void keyThatWasAskedForVeryOftenAndThenNotInheritsWhatItOwesAtTheChange() {
        RateLimiter limiter = limiter(TokenBucket.of(1_000_000, ofSeconds(1)));
        for (int i = 0; i < 2_000_000; i++) {
            DirectLimiter.of(limiter).tryAcquireNow("k", 1);
            if (i % 100 == 0) {
                time.advanceTimeBy(Duration.ofNanos(7_001));
            }
        }
        time.advanceTimeBy(ofHours(1));
        change(limiter, TokenBucket.of(1_000, ofSeconds(1)).withBurst(1_000_000));
        time.advanceTimeBy(ofSeconds(10));
        assertThat(remaining(limiter, "k")).isGreaterThan(990_000);
    }

    @Test
    void whatWasAssembledBeforeIsRefusedIfItCanNeverBeHadAfterwards() {
        RateLimiter limiter = limiter(TokenBucket.of(10_000_000, ofSeconds(1)));
        Mono<Decision> kept = limiter.tryAcquire("k", 1_100_000);
        change(limiter, TokenBucket.of(10, ofDays(1)));
        assertThatThrownBy(() -> now(kept)).hasCauseInstanceOf(PermitsExceedCapacityException.class);
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("k", 1_100_000)).isFalse();
    }

    @Test
    void reservationsFollowThePolicyThatRules() {
        RateLimiter limiter = limiter(LeakyBucket.of(10, ofSeconds(1)).withQueue(10));
        change(limiter, TokenBucket.of(10, ofHours(1)));
        now(now(limiter.reserve("k", 4)).settle(2));
        assertThat(remaining(limiter, "k")).isEqualTo(8);
        change(limiter, LeakyBucket.of(10, ofSeconds(1)).withQueue(10));
        assertThatThrownBy(() -> limiter.reserve("k", 4)).isInstanceOf(IllegalStateException.class);
    }
}
