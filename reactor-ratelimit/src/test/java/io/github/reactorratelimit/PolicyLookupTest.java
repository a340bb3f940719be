package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.github.reactorratelimit.local.LocalStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.test.StepVerifier;
import reactor.util.context.Context;

class PolicyLookupTest {

    private static final Duration KEEP = ofMinutes(5);
    private static final Duration PATIENCE = ofSeconds(30);
    private static final TokenBucket OWN = TokenBucket.perHour(2);
    private static final TokenBucket VIP = TokenBucket.perHour(10);

    private final ManualScheduler time = new ManualScheduler(0);
    private final AtomicInteger lookUps = new AtomicInteger();
    private final AtomicReference<Mono<RateLimitPolicy>> answer = new AtomicReference<>(Mono.just(VIP));

    private Mono<RateLimitPolicy> lookUp(String key) {
        return Mono.defer(() -> {
            lookUps.incrementAndGet();
            return answer.get();
        });
    }

    private RateLimiter limiter(RateLimitPolicy own) {
        return RateLimiter.builder(own)
                .scheduler(time)
                .policyPerKey(this::lookUp, KEEP)
                .build();
    }

    private PolicyLookup lookup(Function<String, Mono<RateLimitPolicy>> resolver) {
        LimiterSettings settings = new LimiterSettings("test", OWN, time, time, RateLimitRecorder.NOOP, 10, true);
        return new PolicyLookup(settings, LocalStore.create().open(settings), resolver, KEEP);
    }

    private static Decision now(Mono<Decision> request) {
        AtomicReference<Decision> decision = new AtomicReference<>();
        request.subscribe(decision::set);
        return decision.get();
    }

    @Test
    void requestsForOneKeyAtTheSameTimeShareOneLookUp() {
        Sinks.One<RateLimitPolicy> later = Sinks.one();
        answer.set(later.asMono());
        RateLimiter limiter = limiter(OWN);
        List<Decision> decisions = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
            limiter.tryAcquire("k").subscribe(decisions::add);
        }
        assertThat(lookUps).hasValue(1);
        later.tryEmitValue(VIP).orThrow();
        assertThat(decisions).hasSize(1_000).filteredOn(Decision::allowed).hasSize(10);
    }

    @Test
    void cancelledAskerDoesNotCancelTheLookUpOfTheOthers() {
        Sinks.One<RateLimitPolicy> later = Sinks.one();
        answer.set(later.asMono());
        RateLimiter limiter = limiter(OWN);
        List<Decision> decisions = new ArrayList<>();
        Disposable first = limiter.tryAcquire("k").subscribe(decisions::add);
        limiter.tryAcquire("k").subscribe(decisions::add);
        first.dispose();
        later.tryEmitValue(VIP).orThrow();
        assertThat(decisions).hasSize(1);
        assertThat(lookUps).hasValue(1);
    }

    @Test
    void failedLookUpIsNotRemembered() {
        answer.set(Mono.error(new IllegalStateException("no database")));
        RateLimiter limiter = limiter(OWN);
        StepVerifier.create(limiter.tryAcquire("k").retry(2))
                .expectErrorMessage("no database")
                .verify(PATIENCE);
        assertThat(lookUps).hasValue(3);
        answer.set(Mono.just(VIP));
        assertThat(now(limiter.tryAcquire("k", 10)).allowed()).isTrue();
    }

    @Test
    void fullCacheIsSweptAFewEntriesAtATime() {
        PolicyLookup policies = lookup(key -> Mono.just(VIP));
        for (int i = 0; i < PolicyLookup.MAX_CACHED; i++) {
            policies.find("k" + i).subscribe();
        }
        policies.find("one more").subscribe();
        assertThat(policies.now("one more")).isNull();
        time.advance(KEEP.toNanos());
        policies.find("later").subscribe();
        assertThat(policies.now("later").policy()).isEqualTo(VIP);
        assertThat(policies.cachedKeys()).isBetween(PolicyLookup.MAX_CACHED - 100, PolicyLookup.MAX_CACHED - 1);
    }

    @Test
    void whatWasSpentIsKeptWhenThePolicyChangesToALargerOne() {
        RateLimiter limiter = limiter(OWN);
        answer.set(Mono.just(TokenBucket.of(4, Duration.ofDays(300))));
        assertThat(now(limiter.tryAcquire("k", 3)).allowed()).isTrue();
        answer.set(Mono.just(TokenBucket.of(10, Duration.ofDays(300))));
        assertThat(now(limiter.peek("k", 1)).limit()).isEqualTo(4);
        time.advance(KEEP.toNanos());
        assertThat(now(limiter.peek("k", 1)).remaining()).isEqualTo(7);
    }

    @Test
    void whatWasSpentIsCappedAtTheCapacityOfASmallerPolicy() {
        RateLimiter limiter = limiter(OWN);
        answer.set(Mono.just(TokenBucket.of(10, Duration.ofDays(300))));
        assertThat(now(limiter.tryAcquire("k", 9)).allowed()).isTrue();
        TokenBucket smaller = TokenBucket.of(4, Duration.ofHours(4));
        answer.set(Mono.just(smaller));
        time.advance(KEEP.toNanos());
        Decision empty = now(limiter.tryAcquire("k"));
        assertThat(empty.remaining()).isZero();
        assertThat(empty.resetAfter()).contains(Duration.ofHours(4));
    }

    @Test
    void concurrencyLimitOtherThanTheLimitersOwnIsRefused() {
        answer.set(Mono.just(ConcurrencyLimit.of(3)));
        String advice = "the policy resolver returned ConcurrencyLimit";
        StepVerifier.create(limiter(ConcurrencyLimit.of(2)).acquireLease("k", 1, PATIENCE))
                .verifyErrorSatisfies(error -> assertThat(error)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining(advice));
        StepVerifier.create(limiter(OWN).acquireLease("k", 1, PATIENCE))
                .verifyErrorSatisfies(error -> assertThat(error)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining(advice));
    }

    @Test
    void concurrencyLimitEqualToTheLimitersOwnIsAccepted() {
        answer.set(Mono.just(ConcurrencyLimit.of(2)));
        StepVerifier.create(limiter(ConcurrencyLimit.of(2)).acquireLease("k", 1, PATIENCE))
                .expectNextCount(1)
                .verifyComplete();
    }

    @Test
    void keyThatFollowsAConcurrencyLimitIsRefusedWithoutARelease() {
        answer.set(Mono.empty());
        RateLimiter limiter = limiter(ConcurrencyLimit.of(2));
        for (int i = 0; i < 2; i++) {
            StepVerifier.create(limiter.tryAcquire("k")).verifyError(IllegalStateException.class);
        }
    }

    @Test
    void lookUpLongerThanMaxWaitIsDeniedWhenMaxWaitIsOver() {
        answer.set(Mono.never());
        RateLimiter limiter = limiter(OWN);
        List<Decision> decisions = new ArrayList<>();
        limiter.acquire("k", 1, ofMillis(100)).subscribe(decisions::add);
        time.advance(ofMillis(100).toNanos() - 1);
        time.runDue();
        assertThat(decisions).isEmpty();
        time.advance(1);
        time.runDue();
        assertThat(decisions).hasSize(1);
        Decision denied = decisions.get(0);
        assertThat(denied.allowed()).isFalse();
        assertThat(denied.policy()).isEqualTo(OWN);
        assertThat(denied.retryAfter()).isEmpty();
    }

    @Test
    void lookUpPastTheDeadlineOfTheContextIsDenied() {
        answer.set(Mono.never());
        List<Decision> decisions = new ArrayList<>();
        limiter(OWN)
                .acquire("k")
                .contextWrite(RateLimitContext.deadline(ofMillis(100), time))
                .subscribe(decisions::add);
        time.advance(ofMillis(100).toNanos());
        time.runDue();
        assertThat(decisions).hasSize(1).noneMatch(Decision::allowed);
    }

    @Test
    void lookUpIsTakenOffTheTimeThatIsLeftToWait() {
        Sinks.One<RateLimitPolicy> later = Sinks.one();
        answer.set(later.asMono());
        RateLimiter limiter = limiter(OWN);
        List<Decision> decisions = new ArrayList<>();
        limiter.acquire("k", 1, ofSeconds(2)).subscribe(decisions::add);
        limiter.acquire("k", 1, ofSeconds(2)).subscribe(decisions::add);
        time.advance(ofMillis(1_500).toNanos());
        later.tryEmitValue(TokenBucket.perSecond(1).withBurst(1)).orThrow();
        assertThat(decisions).extracting(Decision::allowed).containsExactly(true, false);
    }

    @Test
    void lateTimerDoesNotLetALateAnswerThrough() {
        Sinks.One<RateLimitPolicy> later = Sinks.one();
        answer.set(later.asMono());
        List<Decision> decisions = new ArrayList<>();
        limiter(OWN).acquire("k", 1, ofMillis(100)).subscribe(decisions::add);
        time.advance(ofSeconds(4).toNanos());
        later.tryEmitValue(VIP).orThrow();
        assertThat(decisions).hasSize(1).noneMatch(Decision::allowed);
    }

    @Test
    void zeroMaxWaitStillWaitsForThePolicy() {
        Sinks.One<RateLimitPolicy> later = Sinks.one();
        answer.set(later.asMono());
        List<Decision> decisions = new ArrayList<>();
        limiter(OWN).acquire("k", 10, Duration.ZERO).subscribe(decisions::add);
        time.advance(ofSeconds(4).toNanos());
        time.runDue();
        later.tryEmitValue(VIP).orThrow();
        assertThat(decisions).hasSize(1).allMatch(Decision::allowed);
    }

    @Test
    void pastTheDeadlineOnlyAPolicyThatIsThereAtOnceDecides() {
        Context passed = RateLimitContext.deadline(Duration.ZERO, time).apply(Context.empty());
        time.advance(1);
        assertThat(now(limiter(OWN).acquire("k", 10).contextWrite(passed)).allowed())
                .isTrue();
        answer.set(Mono.never());
        assertThat(now(limiter(OWN).acquire("k", 1).contextWrite(passed)).allowed())
                .isFalse();
    }

    @Test
    void refreshAsksAgainAtOnceAndKeepsWhatWasSpent() {
        RateLimiter limiter = limiter(OWN);
        assertThat(now(limiter.tryAcquire("k", 3)).remaining()).isEqualTo(7);
        answer.set(Mono.just(TokenBucket.perHour(20)));
        assertThat(now(limiter.peek("k", 1)).limit()).isEqualTo(10);
        StepVerifier.create(limiter.refreshPolicy("k"))
                .expectNext(TokenBucket.perHour(20))
                .verifyComplete();
        assertThat(now(limiter.peek("k", 1)).remaining()).isEqualTo(17);
        assertThat(lookUps).hasValue(2);
    }

    @Test
    void refreshCapsWhatWasSpentAtTheNewCapacityAndBackAgain() {
        RateLimiter limiter = limiter(OWN);
        assertThat(now(limiter.tryAcquire("k", 9)).allowed()).isTrue();
        answer.set(Mono.just(TokenBucket.perHour(4)));
        limiter.refreshPolicy("k").subscribe();
        assertThat(now(limiter.peek("k", 1)).remaining()).isZero();
        answer.set(Mono.just(VIP));
        limiter.refreshPolicy("k").subscribe();
        assertThat(now(limiter.peek("k", 1)).remaining()).isEqualTo(6);
    }

    @Test
    void refreshReschedulesWaiters() {
        RateLimiter limiter = limiter(OWN);
        answer.set(Mono.just(TokenBucket.perHour(1)));
        assertThat(now(limiter.tryAcquire("k")).allowed()).isTrue();
        List<Decision> decisions = new ArrayList<>();
        limiter.acquire("k").subscribe(decisions::add);
        answer.set(Mono.just(TokenBucket.perSecond(1)));
        limiter.refreshPolicy("k").subscribe();
        time.runDue();
        assertThat(decisions).isEmpty();
        time.advance(ofSeconds(1).toNanos());
        time.runDue();
        assertThat(decisions).hasSize(1).allMatch(Decision::allowed);
    }

    @Test
    void failedRefreshLeavesTheCachedPolicy() {
        RateLimiter limiter = limiter(OWN);
        assertThat(now(limiter.tryAcquire("k")).limit()).isEqualTo(10);
        answer.set(Mono.error(new IllegalStateException("no database")));
        StepVerifier.create(limiter.refreshPolicy("k"))
                .expectErrorMessage("no database")
                .verify(PATIENCE);
        assertThat(now(limiter.peek("k", 1)).remaining()).isEqualTo(9);
    }

    @Test
    void refreshDuringALookUpAsksAfterItSoThatAnOlderAnswerNeverWins() {
        Sinks.One<RateLimitPolicy> older = Sinks.one();
        answer.set(older.asMono());
        RateLimiter limiter = limiter(OWN);
        List<Decision> decisions = new ArrayList<>();
        limiter.tryAcquire("k").subscribe(decisions::add);
        List<RateLimitPolicy> refreshed = new ArrayList<>();
        limiter.refreshPolicy("k").subscribe(refreshed::add);
        limiter.refreshPolicy("k").subscribe(refreshed::add);
        assertThat(lookUps).hasValue(1);
        answer.set(Mono.just(TokenBucket.perHour(20)));
        older.tryEmitValue(VIP).orThrow();
        assertThat(decisions).extracting(Decision::limit).containsExactly(10L);
        assertThat(refreshed).containsExactly(TokenBucket.perHour(20), TokenBucket.perHour(20));
        assertThat(lookUps).hasValue(2);
        assertThat(now(limiter.peek("k", 1)).remaining()).isEqualTo(19);
    }

    @Test
    void limiterWithoutAPolicyPerKeyHasNothingToRefresh() {
        RateLimiter limiter = RateLimiter.builder(OWN).scheduler(time).build();
        assertThatIllegalStateException()
                .isThrownBy(() -> limiter.refreshPolicy("k"))
                .withMessageContaining("policyPerKey");
    }
}
