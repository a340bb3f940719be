package io.github.reactorratelimit;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.testing.Ledger;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;
import reactor.test.scheduler.VirtualTimeScheduler;

/** One key that is given a policy of its own while it is in use, and given back. */
class OwnPolicyTest {

    private static final TokenBucket TEN = TokenBucket.perHour(10);

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final Ledger ledger = new Ledger();

    @AfterEach
    void stop() {
        time.dispose();
    }

    private RateLimiter limiter(RateLimitPolicy policy) {
        return RateLimiter.builder(policy).scheduler(time).recorder(ledger).build();
    }

    private static <T> T get(Mono<T> answer) {
        return answer.toFuture().join();
    }

    private static Decision take(RateLimiter limiter, String key, long permits) {
        return get(limiter.tryAcquire(key, permits));
    }

    private static long remaining(RateLimiter limiter, String key) {
        return get(limiter.peek(key)).remaining();
    }

    @Test
    void keyKeepsWhatItSpentAndOthersAreNotConcerned() {
        RateLimiter limiter = limiter(TEN);
        take(limiter, "alice", 3);
        take(limiter, "bob", 3);
        get(limiter.changePolicy("alice", TokenBucket.perHour(30)));
        assertThat(remaining(limiter, "alice")).isEqualTo(27);
        assertThat(remaining(limiter, "bob")).isEqualTo(7);
        assertThat(limiter.policy()).isEqualTo(TEN);
        get(limiter.changePolicy("alice", TokenBucket.perHour(2)));
        assertThat(take(limiter, "alice", 1).allowed()).isFalse();
        get(limiter.restorePolicy("alice"));
        assertThat(remaining(limiter, "alice")).isEqualTo(8);
    }

    @Test
    void everyWayToAskCountsUnderTheNewPolicy() {
        RateLimiter limiter = limiter(TEN);
        get(limiter.changePolicy("alice", TokenBucket.perHour(20)));
        assertThat(limiter.tryAcquireNow("alice", 12)).isTrue();
        assertThat(limiter.decideNow("alice", 1)).isEqualTo(Verdict.TAKEN);
        assertThat(limiter.run("alice", 1).tryNext(1)).isTrue();
        assertThat(get(limiter.acquire("alice", 1)).limit()).isEqualTo(20);
        Reservation reserved = get(limiter.reserve("alice", 3));
        get(reserved.settle(4));
        assertThat(remaining(limiter, "alice")).isEqualTo(1);
        assertThat(limiter.tryAcquireNow("alice", 2)).isFalse();
        assertThat(limiter.decideNow("alice", 2)).isInstanceOf(Decision.class);
    }

    @Test
    void permitsAboveTheNewCapacityAreRefusedForThatKeyOnly() {
        RateLimiter limiter = limiter(TEN);
        Mono<Decision> held = limiter.tryAcquire("alice", 6);
        get(limiter.changePolicy("alice", TokenBucket.perHour(5)));
        StepVerifier.create(limiter.tryAcquire("alice", 6)).verifyError(PermitsExceedCapacityException.class);
        StepVerifier.create(held).verifyError(PermitsExceedCapacityException.class);
        StepVerifier.create(limiter.acquire("alice", 6)).verifyError(PermitsExceedCapacityException.class);
        assertThat(limiter.tryAcquireNow("alice", 6)).isFalse();
        assertThat(take(limiter, "bob", 6).allowed()).isTrue();
        get(limiter.restorePolicy("alice"));
        assertThat(get(held).allowed()).isTrue();
    }

    @Test
    void whoWaitsIsTimedAnewByTheChangeAndByTheWayBack() {
        RateLimiter limiter = limiter(TokenBucket.perSecond(1).withBurst(1));
        take(limiter, "k", 1);
        List<Long> left = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            limiter.acquire("k").subscribe(decision -> left.add(time.now(TimeUnit.MILLISECONDS)));
        }
        get(limiter.changePolicy("k", TokenBucket.of(1, ofMillis(100)).withBurst(1)));
        time.advanceTimeBy(ofMillis(99));
        assertThat(left).isEmpty();
        time.advanceTimeBy(ofMillis(1));
        assertThat(left).hasSize(1);
        get(limiter.restorePolicy("k"));
        time.advanceTimeBy(ofMillis(999));
        assertThat(left).hasSize(1);
        time.advanceTimeBy(ofMillis(1));
        assertThat(left).hasSize(2);
        time.advanceTimeBy(ofSeconds(1));
        assertThat(left).hasSize(3);
    }

    @Test
    void changeForAllLeavesAKeyWithAPolicyOfItsOwnAloneUntilItIsGivenBack() {
        RateLimiter limiter = limiter(TEN);
        take(limiter, "k", 2);
        get(limiter.changePolicy("k", TokenBucket.perHour(100)));
        get(limiter.changePolicy(TokenBucket.perHour(50)));
        assertThat(remaining(limiter, "k")).isEqualTo(98);
        get(limiter.restorePolicy("k"));
        assertThat(remaining(limiter, "k")).isEqualTo(48);
        get(limiter.changePolicy(TokenBucket.perHour(40)));
        assertThat(remaining(limiter, "k")).isEqualTo(38);
    }

    @Test
    void whatWasTakenBeforeIsNotRefundedAfterwardsAndCountedAsLost() {
        RateLimiter limiter = limiter(TEN);
        Decision before = take(limiter, "k", 4);
        get(limiter.changePolicy("k", TokenBucket.perHour(20)));
        Decision during = take(limiter, "k", 5);
        get(limiter.refund(before));
        assertThat(remaining(limiter, "k")).isEqualTo(11);
        assertThat(ledger.lost()).isEqualTo(4);
        get(limiter.restorePolicy("k"));
        get(limiter.refund(during));
        assertThat(remaining(limiter, "k")).isEqualTo(1);
        assertThat(ledger.lost()).isEqualTo(9);
    }

    @Test
    void refundWhileItHasAPolicyOfItsOwnCounts() {
        RateLimiter limiter = limiter(TEN);
        get(limiter.changePolicy("k", TokenBucket.perHour(20)));
        Decision taken = take(limiter, "k", 5);
        // Taken at the very moment of the change it might belong to the policy before.
        assertThat(remaining(limiter, "k")).isEqualTo(15);
        time.advanceTimeBy(ofSeconds(1));
        Decision later = take(limiter, "k", 5);
        get(limiter.refund(later));
        assertThat(remaining(limiter, "k")).isEqualTo(15);
        assertThat(taken.allowed()).isTrue();
    }

    @Test
    void resetForgetsAlsoWhatWasSpentUnderThePolicyBefore() {
        RateLimiter limiter = limiter(TokenBucket.of(10, ofDays(10)));
        take(limiter, "k", 10);
        get(limiter.changePolicy("k", TokenBucket.perSecond(5)));
        get(limiter.reset("k"));
        assertThat(remaining(limiter, "k")).isEqualTo(5);
        get(limiter.restorePolicy("k"));
        time.advanceTimeBy(ofMillis(1));
        fillWithOthers(limiter);
        assertThat(remaining(limiter, "k")).isEqualTo(10);
    }

    /** So that a key that was given back has to make room. */
    private static void fillWithOthers(RateLimiter limiter) {
        for (int i = 0; i < 1_000; i++) {
            get(limiter.changePolicy("other" + i, TokenBucket.perHour(5)));
        }
    }

    @Test
    void keyThatMadeRoomForOthersIsCountedAsAllAre() {
        RateLimiter limiter = limiter(TEN);
        get(limiter.changePolicy("k", TokenBucket.perHour(20)));
        Decision taken = take(limiter, "k", 7);
        get(limiter.restorePolicy("k"));
        time.advanceTimeBy(ofHours(1));
        fillWithOthers(limiter);
        assertThat(take(limiter, "k", 9).remaining()).isEqualTo(1);
        get(limiter.refund(taken));
        assertThat(remaining(limiter, "k")).isEqualTo(1);
        assertThat(get(limiter.peek("k")).limit()).isEqualTo(10);
    }

    @Test
    void keyThatMadeRoomForOthersOwesNothingFromBeforeItsOwnPolicy() {
        RateLimiter limiter = limiter(TokenBucket.of(10, ofHours(240)));
        take(limiter, "k", 10);
        get(limiter.changePolicy("k", TokenBucket.perHour(20)));
        time.advanceTimeBy(ofHours(1));
        get(limiter.restorePolicy("k"));
        assertThat(remaining(limiter, "k")).isEqualTo(10);
        fillWithOthers(limiter);
        assertThat(remaining(limiter, "k")).isEqualTo(10);
        assertThat(take(limiter, "k", 10).allowed()).isTrue();
        assertThat(take(limiter, "k", 1).allowed()).isFalse();
    }

    @Test
    void noMoreThanAThousandKeysHaveOneAndThoseGivenBackMakeRoomWhenTheyOweNothing() {
        RateLimiter limiter = limiter(TEN);
        for (int i = 0; i < 1_000; i++) {
            get(limiter.changePolicy("k" + i, TokenBucket.perHour(5)));
        }
        StepVerifier.create(limiter.changePolicy("one more", TokenBucket.perHour(5)))
                .expectErrorMessage("limiter 'default' has policies for 1000 keys of their own; for more give it a"
                        + " policyPerKey")
                .verify();
        take(limiter, "k0", 1);
        get(limiter.restorePolicy("k0"));
        StepVerifier.create(limiter.changePolicy("one more", TokenBucket.perHour(5)))
                .verifyError(IllegalStateException.class);
        time.advanceTimeBy(ofHours(1));
        get(limiter.changePolicy("one more", TokenBucket.perHour(5)));
        assertThat(get(limiter.peek("one more")).limit()).isEqualTo(5);
        assertThat(get(limiter.peek("k0")).limit()).isEqualTo(10);
    }

    @Test
    void concurrencyCannotDifferByKey() {
        RateLimiter limiter = limiter(TEN);
        assertThatThrownBy(() -> limiter.changePolicy("k", ConcurrencyLimit.of(1)))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> limiter(ConcurrencyLimit.of(1)).changePolicy("k", TEN))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void keyThatWasGivenNoneIsLeftAlone() {
        RateLimiter limiter = limiter(TEN);
        take(limiter, "k", 3);
        Decision taken = take(limiter, "k", 3);
        get(limiter.restorePolicy("k"));
        get(limiter.refund(taken));
        assertThat(remaining(limiter, "k")).isEqualTo(7);
    }

    private final Map<String, RateLimitPolicy> plans = new ConcurrentHashMap<>();

    private RateLimiter byPlan(Duration cacheFor) {
        return RateLimiter.builder(TEN)
                .scheduler(time)
                .policyPerKey(
                        key -> plans.containsKey("fail") && key.equals("k")
                                ? Mono.error(new IllegalStateException("no plans"))
                                : Mono.justOrEmpty(plans.get(key)),
                        cacheFor)
                .build();
    }

    @Test
    void policyOfItsOwnGoesBeforeTheResolverWhichIsNotAsked() {
        plans.put("k", TokenBucket.perHour(20));
        RateLimiter limiter = byPlan(ofSeconds(1));
        take(limiter, "k", 5);
        get(limiter.changePolicy("k", TokenBucket.perHour(7)));
        assertThat(remaining(limiter, "k")).isEqualTo(2);
        time.advanceTimeBy(ofSeconds(2));
        plans.put("fail", TEN);
        assertThat(take(limiter, "k", 1).limit()).isEqualTo(7);
        assertThat(get(limiter.acquire("k", 1)).allowed()).isTrue();
        assertThat(remaining(limiter, "k")).isZero();
    }

    @Test
    void keyThatIsGivenBackFollowsItsTierAgainAndTheTierMayHaveChanged() {
        plans.put("k", TokenBucket.perHour(20));
        RateLimiter limiter = byPlan(ofSeconds(1));
        take(limiter, "k", 5);
        get(limiter.changePolicy("k", TokenBucket.perHour(100)));
        plans.put("k", TokenBucket.perHour(40));
        time.advanceTimeBy(ofSeconds(2));
        get(limiter.restorePolicy("k"));
        assertThat(remaining(limiter, "k")).isEqualTo(35);
        plans.put("k", TokenBucket.perHour(30));
        time.advanceTimeBy(ofSeconds(2));
        assertThat(remaining(limiter, "k")).isEqualTo(25);
        plans.remove("k");
        time.advanceTimeBy(ofSeconds(2));
        assertThat(remaining(limiter, "k")).isEqualTo(5);
        get(limiter.changePolicy(TokenBucket.perHour(60)));
        assertThat(remaining(limiter, "k")).isEqualTo(55);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void changeOfATierKeepsWhatItsKeysSpent(int times) {
        plans.put("k", TokenBucket.perHour(20));
        RateLimiter limiter = byPlan(ofSeconds(1));
        take(limiter, "k", 6);
        for (int i = 1; i <= times; i++) {
            plans.put("k", TokenBucket.perHour(20 + i));
            time.advanceTimeBy(ofSeconds(2));
            assertThat(remaining(limiter, "k")).isEqualTo(14 + i);
        }
    }
}
