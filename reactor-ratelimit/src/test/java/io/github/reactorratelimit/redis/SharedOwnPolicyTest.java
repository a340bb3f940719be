package io.github.reactorratelimit.redis;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.PermitsExceedCapacityException;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.Reservation;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.redis.server.Await;
import io.github.reactorratelimit.redis.server.RedisExtension;
import io.github.reactorratelimit.redis.server.Standalone;
import io.github.reactorratelimit.testing.Ledger;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

/** One key that one process gives a policy of its own, and gives back, and all follow; a process is a store of its own here. */
@ExtendWith(RedisExtension.class)
class SharedOwnPolicyTest {

    private static final Duration PATIENCE = ofSeconds(30);
    private static final String KEY = "k";
    private static final TokenBucket TEN = slow(10);

    /** Nothing refills within a test, however long that takes. */
    private static TokenBucket slow(long capacity) {
        return TokenBucket.of(capacity, ofDays(300));
    }

    private final Standalone redis;
    private final StatefulRedisConnection<String, String> admin;
    private final String name = "own-" + UUID.randomUUID();
    private final List<RateLimiter> limiters = new ArrayList<>();
    private final List<RedisStore> stores = new ArrayList<>();
    private final Ledger ledger = new Ledger();

    SharedOwnPolicyTest(Standalone redis) {
        this.redis = redis;
        this.admin = redis.connect();
    }

    @AfterEach
    void close() {
        Flux.fromIterable(limiters).flatMap(RateLimiter::close).blockLast(PATIENCE);
        Flux.fromIterable(stores).flatMap(RedisStore::close).blockLast(PATIENCE);
        admin.close();
    }

    private RedisStore hearing() {
        RedisStore store = RedisStore.connect(redis.uri())
                .block(PATIENCE)
                .withoutSelfTest()
                .withDeadline(PATIENCE);
        stores.add(store);
        return store;
    }

    /** One that hears of nothing but from the scripts. */
    private RedisStore deaf() {
        return RedisStore.of(admin).withoutSelfTest().withDeadline(PATIENCE);
    }

    private RateLimiter process(RedisStore store, RateLimitPolicy policy) {
        RateLimiter limiter = RateLimiter.builder(policy)
                .name(name)
                .store(store)
                .recorder(ledger)
                .build();
        limiters.add(limiter);
        return limiter;
    }

    private static Decision take(RateLimiter limiter, long permits) {
        return limiter.tryAcquire(KEY, permits).block(PATIENCE);
    }

    private static Decision look(RateLimiter limiter) {
        return limiter.peek(KEY).block(PATIENCE);
    }

    private static long remaining(RateLimiter limiter) {
        return look(limiter).remaining();
    }

    private static void give(RateLimiter limiter, RateLimitPolicy policy) {
        limiter.changePolicy(KEY, policy).block(PATIENCE);
    }

    private static void restore(RateLimiter limiter) {
        limiter.restorePolicy(KEY).block(PATIENCE);
    }

    private Map<String, String> registered() {
        return admin.sync().hgetall(new RedisKeys("ratelimit", name).ownPolicies());
    }

    @Test
    void keyKeepsWhatItSpentAndOthersAreNotConcerned() {
        RateLimiter one = process(hearing(), TEN);
        take(one, 3);
        one.tryAcquire("other", 3).block(PATIENCE);
        give(one, slow(30));
        assertThat(remaining(one)).isEqualTo(27);
        assertThat(one.peek("other").block(PATIENCE).remaining()).isEqualTo(7);
        assertThat(one.policy()).isEqualTo(TEN);
        give(one, slow(2));
        assertThat(take(one, 1).allowed()).isFalse();
        restore(one);
        assertThat(remaining(one)).isEqualTo(8);
        assertThat(look(one).limit()).isEqualTo(10);
        assertThat(registered()).isEmpty();
    }

    static Stream<RateLimitPolicy> policies() {
        return Stream.of(
                slow(40),
                Gcra.of(40, ofDays(300)).withBurst(40),
                TokenBucket.of(40, ofDays(30)).stepwise(),
                FixedWindow.of(40, ofDays(300)).fromFirstRequest(),
                SlidingWindowLog.of(40, ofDays(30)),
                SlidingWindowCounter.of(40, ofDays(200)),
                Policies.all(slow(40), SlidingWindowLog.of(50, ofDays(3))));
    }

    @ParameterizedTest
    @MethodSource("policies")
    void whatWasSpentIsKeptUnderEveryPolicyThereAndBackAndAProcessThatHeardOfNothingIsToldByTheKey(RateLimitPolicy to) {
        RateLimiter one = process(hearing(), TEN);
        RateLimiter deaf = process(deaf(), TEN);
        assertThat(take(deaf, 3).allowed()).isTrue();
        assertThat(take(one, 1).allowed()).isTrue();
        give(one, to);
        assertThat(take(deaf, 5).remaining()).isEqualTo(31);
        assertThat(remaining(one)).isEqualTo(31);
        restore(one);
        assertThat(take(deaf, 1).allowed()).isTrue();
        assertThat(take(deaf, 1).allowed()).isFalse();
        assertThat(look(one).limit()).isEqualTo(10);
        assertThat(remaining(one)).isZero();
    }

    @Test
    void leakyBucketOfItsOwnSpacesTheKey() {
        RateLimiter one = process(hearing(), TEN);
        RateLimiter deaf = process(deaf(), TEN);
        take(deaf, 1);
        give(one, new LeakyBucket(1, ofHours(1), 5, false));
        assertThat(take(deaf, 1).allowed()).isFalse();
        assertThat(take(one, 1).allowed()).isFalse();
        restore(one);
        assertThat(remaining(deaf)).isEqualTo(9);
        assertThat(take(deaf, 9).allowed()).isTrue();
        assertThat(take(one, 1).allowed()).isFalse();
    }

    @Test
    void processThatHasNotHeardGetsNoPermitMoreThanTheKeysPolicyGives() {
        RateLimiter one = process(hearing(), slow(100));
        RateLimiter deaf = process(deaf().withoutDenialCache(), slow(100));
        take(deaf, 1);
        give(one, slow(5));
        int allowed = 0;
        for (int i = 0; i < 20; i++) {
            allowed += take(deaf, 1).allowed() ? 1 : 0;
        }
        assertThat(allowed).isEqualTo(4);
        restore(one);
        assertThat(remaining(deaf)).isEqualTo(95);
    }

    @Test
    void manyAsksAtATimeOfAProcessThatHasNotHeardAreCountedUnderTheKeysPolicy() {
        RateLimiter one = process(hearing(), slow(100));
        RateLimiter deaf = process(deaf().withoutDenialCache(), slow(100));
        take(deaf, 1);
        give(one, slow(50));
        long allowed = Flux.range(0, 300)
                .flatMap(i -> deaf.tryAcquire(KEY), 300)
                .filter(Decision::allowed)
                .count()
                .block(PATIENCE);
        assertThat(allowed).isEqualTo(49);
    }

    @Test
    void processHearsOfItAndOfTheWayBackByASignal() {
        RateLimiter one = process(hearing(), TEN);
        RateLimiter other = process(hearing(), TEN);
        look(other);
        give(one, slow(30));
        Await.until("the process has heard", () -> fits(other, 30));
        assertThat(take(other, 5).remaining()).isEqualTo(25);
        give(one, slow(5));
        Await.until("the process has heard", () -> !fits(other, 10));
        restore(one);
        Await.until("the process has heard", () -> fits(other, 10));
        assertThat(remaining(other)).isEqualTo(5);
    }

    /** Whether so many permits are within the capacity: if not, Redis is not asked, and cannot tell. */
    private static boolean fits(RateLimiter limiter, long permits) {
        return limiter.peek(KEY, permits)
                .map(answered -> true)
                .onErrorReturn(PermitsExceedCapacityException.class, false)
                .block(PATIENCE);
    }

    @Test
    void processThatIsStartedLaterFollowsToo() {
        RateLimiter one = process(hearing(), TEN);
        take(one, 4);
        give(one, slow(30));
        RateLimiter late = process(deaf(), TEN);
        look(late);
        assertThat(take(late, 26).remaining()).isZero();
        restore(one);
        RateLimiter later = process(deaf(), TEN);
        assertThat(look(later).limit()).isEqualTo(10);
        assertThat(remaining(later)).isZero();
    }

    @Test
    void permitsAboveTheNewCapacityAreRefusedForThatKeyOnly() {
        RateLimiter one = process(hearing(), TEN);
        Mono<Decision> held = one.tryAcquire(KEY, 6);
        give(one, slow(5));
        StepVerifier.create(one.tryAcquire(KEY, 6))
                .expectError(PermitsExceedCapacityException.class)
                .verify(PATIENCE);
        StepVerifier.create(held)
                .expectError(PermitsExceedCapacityException.class)
                .verify(PATIENCE);
        assertThat(one.tryAcquire("other", 6).block(PATIENCE).allowed()).isTrue();
        restore(one);
        assertThat(held.block(PATIENCE).allowed()).isTrue();
    }

    static Stream<RateLimitPolicy> quickPolicies() {
        return Stream.of(
                TokenBucket.of(1, ofMillis(20)).withBurst(1),
                Gcra.of(1, ofMillis(20)),
                new LeakyBucket(1, ofMillis(20), 100, false),
                SlidingWindowLog.of(1, ofMillis(20)),
                FixedWindow.of(1, ofMillis(20)).fromFirstRequest());
    }

    @ParameterizedTest
    @MethodSource("quickPolicies")
    void waitersOfAllProcessesAreTimedAnewByTheChange(RateLimitPolicy quick) {
        RateLimiter one = process(hearing(), TokenBucket.perHour(1));
        RateLimiter other = process(hearing(), TokenBucket.perHour(1));
        take(one, 1);
        List<CompletableFuture<Decision>> waiting = waiters(one, other);
        give(one, quick);
        assertThat(allLeave(waiting)).isTrue();
    }

    @ParameterizedTest
    @MethodSource("quickPolicies")
    void waitersOfAllProcessesAreTimedAnewByTheWayBack(RateLimitPolicy quick) {
        RateLimiter one = process(hearing(), quick);
        RateLimiter other = process(hearing(), quick);
        give(one, TokenBucket.perHour(1));
        take(one, 1);
        List<CompletableFuture<Decision>> waiting = waiters(one, other);
        restore(one);
        assertThat(allLeave(waiting)).isTrue();
    }

    private static List<CompletableFuture<Decision>> waiters(RateLimiter... processes) {
        List<CompletableFuture<Decision>> waiting = new ArrayList<>();
        for (RateLimiter process : processes) {
            look(process);
            waiting.add(process.acquire(KEY, 1, ofDays(1)).toFuture());
            waiting.add(process.acquire(KEY, 1, ofDays(1)).toFuture());
            look(process);
        }
        return waiting;
    }

    private static boolean allLeave(List<CompletableFuture<Decision>> waiting) {
        return Flux.fromIterable(waiting)
                .flatMap(Mono::fromFuture)
                .all(Decision::allowed)
                .block(PATIENCE);
    }

    @Test
    void waitersWhoseTurnComesTooLateNowAreDenied() {
        RateLimiter one = process(hearing(), TokenBucket.of(1, ofHours(1)));
        RateLimiter other = process(hearing(), TokenBucket.of(1, ofHours(1)));
        take(one, 1);
        CompletableFuture<Decision> waiting = other.acquire(KEY, 1, ofHours(2)).toFuture();
        look(other);
        give(one, TokenBucket.of(1, ofDays(10)));
        assertThat(Mono.fromFuture(waiting).block(PATIENCE).allowed()).isFalse();
    }

    @Test
    void changeForAllLeavesAKeyWithAPolicyOfItsOwnAloneUntilItIsGivenBack() {
        RateLimiter one = process(hearing(), TEN);
        RateLimiter deaf = process(deaf(), TEN);
        take(deaf, 2);
        give(one, slow(100));
        one.changePolicy(slow(50)).block(PATIENCE);
        assertThat(remaining(one)).isEqualTo(98);
        assertThat(remaining(deaf)).isEqualTo(98);
        restore(one);
        assertThat(remaining(one)).isEqualTo(48);
        assertThat(remaining(deaf)).isEqualTo(48);
        one.changePolicy(slow(40)).block(PATIENCE);
        assertThat(remaining(one)).isEqualTo(38);
        assertThat(remaining(deaf)).isEqualTo(38);
        give(deaf, slow(20));
        assertThat(remaining(one)).isEqualTo(18);
    }

    @Test
    void keyThatWasNotUsedSinceAChangeForAllKeepsWhatItSpent() {
        RateLimiter one = process(hearing(), TEN);
        take(one, 4);
        one.changePolicy(SlidingWindowLog.of(30, ofDays(3))).block(PATIENCE);
        give(one, slow(20));
        assertThat(remaining(one)).isEqualTo(16);
    }

    @Test
    void changesMadeAtTheSameTimeHappenOneAfterTheOtherAndNothingSpentIsForgotten() {
        RateLimiter one = process(hearing(), slow(100));
        RateLimiter other = process(deaf(), slow(100));
        RateLimiter third = process(hearing(), slow(100));
        take(one, 40);
        Mono.when(
                        one.changePolicy(KEY, SlidingWindowLog.of(60, ofDays(3))),
                        other.changePolicy(KEY, FixedWindow.of(70, ofDays(300)).fromFirstRequest()),
                        third.changePolicy(slow(90)))
                .block(PATIENCE);
        assertThat(look(one).limit()).isIn(60L, 70L);
        assertThat(remaining(one)).isEqualTo(look(one).limit() - 40);
        Mono.when(one.restorePolicy(KEY), other.restorePolicy(KEY), third.changePolicy(KEY, slow(80)))
                .block(PATIENCE);
        assertThat(look(one).limit()).isIn(80L, 90L);
        assertThat(remaining(other)).isEqualTo(look(other).limit() - 40);
    }

    @Test
    void whatWasTakenBeforeIsNotRefundedAfterwardsAndCountedAsLost() {
        RateLimiter one = process(hearing(), TEN);
        Decision before = take(one, 4);
        give(one, slow(20));
        Decision during = take(one, 5);
        one.refund(before).block(PATIENCE);
        assertThat(remaining(one)).isEqualTo(11);
        assertThat(ledger.lost()).isEqualTo(4);
        Decision back = take(one, 2);
        one.refund(back).block(PATIENCE);
        assertThat(remaining(one)).isEqualTo(11);
        restore(one);
        one.refund(during).block(PATIENCE);
        assertThat(remaining(one)).isEqualTo(1);
        assertThat(ledger.lost()).isEqualTo(9);
        Decision after = take(one, 1);
        one.refund(after).block(PATIENCE);
        assertThat(remaining(one)).isEqualTo(1);
        assertThat(ledger.lost()).isEqualTo(9);
    }

    @Test
    void otherProcessesDoNotRefundWhatTheyTookBeforeEither() {
        RateLimiter one = process(hearing(), TEN);
        RateLimiter other = process(hearing(), TEN);
        Decision before = take(other, 4);
        give(one, slow(5));
        restore(one);
        Await.until("the process has heard", () -> remaining(other) == 6);
        other.refund(before).block(PATIENCE);
        assertThat(remaining(one)).isEqualTo(6);
    }

    @Test
    void processThatHasNotHeardDoesNotRefundWhatItTookBeforeAndCountsItAsLost() {
        RateLimiter one = process(hearing(), TEN);
        RateLimiter deaf = process(deaf(), TEN);
        Decision before = take(deaf, 4);
        give(one, slow(20));
        deaf.refund(before).block(PATIENCE);
        assertThat(remaining(one)).isEqualTo(16);
        assertThat(ledger.lost()).isEqualTo(4);
    }

    @Test
    void reservationIsSettledUnderThePolicyThatTheKeyHasThen() {
        RateLimiter one = process(hearing(), TEN);
        Reservation reserved = one.reserve(KEY, 3).block(PATIENCE);
        give(one, slow(20));
        reserved.settle(5).block(PATIENCE);
        assertThat(remaining(one)).isEqualTo(15);
        Reservation again = one.reserve(KEY, 5).block(PATIENCE);
        restore(one);
        again.settle(5).block(PATIENCE);
        assertThat(remaining(one)).isZero();
    }

    @Test
    void leasedPermitsAreNotSpentUnderThePolicyOfTheKey() {
        RateLimiter one = process(hearing().leasing(ofSeconds(30)), slow(1_000));
        for (int i = 0; i < 20; i++) {
            assertThat(take(one, 1).allowed()).isTrue();
        }
        give(one, slow(5));
        for (int i = 0; i < 5; i++) {
            assertThat(take(one, 1).allowed()).isFalse();
            assertThat(one.tryAcquireNow(KEY, 1)).isFalse();
        }
        restore(one);
        assertThat(take(one, 990).remaining()).isEqualTo(5);
    }

    @Test
    void processThatHasNotHeardLeasesNothingOfThePolicyOfTheKey() {
        RateLimiter one = process(hearing(), slow(1_000));
        RateLimiter deaf = process(deaf().leasing(ofSeconds(30)), slow(1_000));
        Await.until("permits are leased", () -> {
            take(deaf, 1);
            return deaf.tryAcquireNow(KEY, 1);
        });
        give(one, slow(2_000));
        long remaining = remaining(one);
        while (deaf.tryAcquireNow(KEY, 1)) {
            // what was leased before, until it has to be refilled
        }
        deaf.close().block(PATIENCE);
        assertThat(remaining(one)).isEqualTo(remaining);
    }

    @Test
    void severalLimitsAskedTogetherObserveIt() {
        RateLimiter one = process(hearing(), TEN);
        RateLimiter deaf = process(deaf(), TEN);
        RateLimiter beside =
                RateLimiter.builder(TEN).name("beside-" + name).store(deaf()).build();
        limiters.add(beside);
        take(deaf, 1);
        give(one, slow(3));
        assertThat(together(deaf, beside, 2)).isTrue();
        assertThat(together(deaf, beside, 2)).isFalse();
        assertThat(beside.peek("b").block(PATIENCE).remaining()).isEqualTo(8);
        restore(one);
        assertThat(together(deaf, beside, 3)).isTrue();
        assertThat(together(deaf, beside, 4)).isTrue();
        assertThat(together(deaf, beside, 1)).isFalse();
    }

    private static boolean together(RateLimiter limiter, RateLimiter beside, long permits) {
        return RateLimiter.acquireAll(
                        List.of(new RateLimiter.Ask(limiter, KEY, permits), new RateLimiter.Ask(beside, "b", permits)))
                .block(PATIENCE)
                .allowed();
    }

    @Test
    void resetAndPauseWorkUnderThePolicyOfTheKey() {
        RateLimiter one = process(hearing(), TEN);
        RateLimiter deaf = process(deaf(), TEN);
        take(deaf, 10);
        give(one, slow(20));
        deaf.reset(KEY).block(PATIENCE);
        assertThat(remaining(one)).isEqualTo(20);
        deaf.pause(KEY, ofHours(1)).block(PATIENCE);
        assertThat(take(one, 1).allowed()).isFalse();
        restore(one);
        assertThat(take(deaf, 1).allowed()).isFalse();
        deaf.pause(KEY, Duration.ZERO).block(PATIENCE);
        assertThat(remaining(deaf)).isEqualTo(10);
    }

    @Test
    void noMoreThanAThousandKeysHaveOneAndThoseGivenBackMakeRoom() {
        RateLimiter one = process(deaf(), TEN);
        give(one, slow(5));
        String written = registered().get(KEY);
        Map<String, String> others =
                IntStream.range(1, 1_000).boxed().collect(Collectors.toMap(i -> "other" + i, i -> written));
        admin.sync().hset(new RedisKeys("ratelimit", name).ownPolicies(), others);
        StepVerifier.create(one.changePolicy("one more", slow(5)))
                .expectErrorMessage("limiter '" + name + "' has policies for 1000 keys of their own; for more give it a"
                        + " policyPerKey")
                .verify(PATIENCE);
        assertThat(one.peek("one more").block(PATIENCE).limit()).isEqualTo(10);
        give(one, slow(6));
        assertThat(look(one).limit()).isEqualTo(6);
        restore(one);
        one.changePolicy("one more", slow(5)).block(PATIENCE);
        assertThat(one.peek("one more").block(PATIENCE).limit()).isEqualTo(5);
        assertThat(one.peek("other1").block(PATIENCE).limit()).isEqualTo(5);
        assertThat(look(one).limit()).isEqualTo(10);
        assertThat(registered()).hasSize(1_000);
    }

    @Test
    void keyThatWasGivenNoneIsLeftAlone() {
        RateLimiter one = process(hearing(), TEN);
        Decision taken = take(one, 3);
        restore(one);
        one.refund(taken).block(PATIENCE);
        assertThat(remaining(one)).isEqualTo(10);
        assertThat(registered()).isEmpty();
    }

    @Test
    void concurrencyCannotDifferByKey() {
        RateLimiter one = process(hearing(), TEN);
        assertThatThrownBy(() -> one.changePolicy(KEY, ConcurrencyLimit.of(1)))
                .isInstanceOf(IllegalArgumentException.class);
        assertThat(look(one).limit()).isEqualTo(10);
    }

    @Test
    void policyOfItsOwnGoesBeforeTheResolverAndTheTierCountsAgainAfterwards() {
        Map<String, RateLimitPolicy> plans = new ConcurrentHashMap<>(Map.of(KEY, TokenBucket.perHour(20)));
        RateLimiter one = byPlan(plans);
        RateLimiter other = byPlan(plans);
        take(one, 5);
        take(other, 1);
        give(one, TokenBucket.perHour(7));
        assertThat(take(other, 1).remaining()).isZero();
        Mono<Decision> held = one.tryAcquire(KEY, 1);
        CompletableFuture<Decision> waiting = other.acquire(KEY, 1, ofDays(1)).toFuture();
        look(other);
        restore(one);
        assertThat(Mono.fromFuture(waiting).block(PATIENCE).limit()).isEqualTo(20);
        assertThat(held.block(PATIENCE).remaining()).isEqualTo(11);
        assertThat(remaining(other)).isEqualTo(11);
    }

    @Test
    void tierThatEqualsAPolicyWhichTheKeyOnceHadCounts() {
        Map<String, RateLimitPolicy> plans = new ConcurrentHashMap<>(Map.of(KEY, slow(20)));
        RateLimiter one = byPlan(plans, ofMillis(1));
        take(one, 5);
        give(one, slow(50));
        restore(one);
        assertThat(look(one).limit()).isEqualTo(20);
        plans.put(KEY, slow(50));
        Await.until("the tier counts", () -> look(one).limit() == 50);
        assertThat(remaining(one)).isEqualTo(45);
    }

    private RateLimiter byPlan(Map<String, RateLimitPolicy> plans) {
        return byPlan(plans, ofHours(1));
    }

    private RateLimiter byPlan(Map<String, RateLimitPolicy> plans, Duration cacheFor) {
        RateLimiter limiter = RateLimiter.builder(TEN)
                .name(name)
                .store(hearing())
                .policyPerKey(key -> Mono.justOrEmpty(plans.get(key)), cacheFor)
                .build();
        limiters.add(limiter);
        return limiter;
    }
}
