package io.github.reactorratelimit;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofDays;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static reactor.core.publisher.Sinks.EmitFailureHandler.busyLooping;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;

/**
 * What every store must do, whatever its clock: the store may be a server with a time of its own, so
 * nothing here depends on virtual time. Policies that recover over hours stand still for a test;
 * policies that recover in milliseconds are only ever waited for.
 */
public abstract class RateLimiterContract {

    protected static final Duration PATIENCE = ofSeconds(30);
    private static final int LIMIT = 5;

    private final List<RateLimiter> opened = new ArrayList<>();
    final String key = "contract-" + UUID.randomUUID();

    /** The store under test, possibly the same for several limiters. */
    protected abstract RateLimitStore store();

    /** Whether the store takes the policy; what is said about those it refuses does not apply to it. */
    protected boolean holds(RateLimitPolicy policy) {
        return true;
    }

    /** Whether a refund of what was debited before a reset changes nothing. */
    protected boolean refusesRefundsFromBeforeAReset() {
        return true;
    }

    final RateLimiter limiter(RateLimitPolicy policy) {
        assumeTrue(holds(policy), () -> "the store refuses " + policy);
        RateLimiter limiter = RateLimiter.builder(policy)
                .name("contract-" + UUID.randomUUID())
                .store(store())
                .build();
        opened.add(limiter);
        return limiter;
    }

    @AfterEach
    void closeLimiters() {
        Flux.fromIterable(opened).flatMap(RateLimiter::close).blockLast(PATIENCE);
    }

    static Decision now(Mono<Decision> request) {
        Decision decision = request.block(PATIENCE);
        assertThat(decision).isNotNull();
        return decision;
    }

    /** Policies that give {@value #LIMIT} permits at once and no more during a test. */
    static Stream<RateLimitPolicy> policiesOfFive() {
        return Stream.of(
                TokenBucket.of(LIMIT, ofHours(1)),
                TokenBucket.of(LIMIT, ofHours(1)).stepwise(),
                new TokenBucket(LIMIT, 7, ofHours(3)),
                Gcra.of(LIMIT, ofHours(1)),
                FixedWindow.of(LIMIT, ofHours(9999 / 2)),
                FixedWindow.of(LIMIT, ofHours(1)).fromFirstRequest(),
                SlidingWindowLog.of(LIMIT, ofHours(1)),
                SlidingWindowCounter.of(LIMIT, ofHours(9999 / 2)),
                Policies.all(TokenBucket.of(LIMIT, ofHours(1)), SlidingWindowLog.of(LIMIT + 1, ofHours(1))));
    }

    @ParameterizedTest
    @MethodSource("policiesOfFive")
    void allowsTheLimitAndDeniesTheNext(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);
        for (int left = LIMIT - 1; left >= 0; left--) {
            Decision decision = now(limiter.tryAcquire(key));
            assertThat(decision.allowed()).isTrue();
            assertThat(decision.remaining()).isEqualTo(left);
            assertThat(decision.retryAfter()).isEmpty();
        }
        Decision denied = now(limiter.tryAcquire(key));
        assertThat(denied.allowed()).isFalse();
        assertThat(denied.remaining()).isZero();
        assertThat(denied.retryAfter())
                .hasValueSatisfying(after -> assertThat(after).isPositive());
        assertThat(denied.resetAfter())
                .hasValueSatisfying(after -> assertThat(after).isPositive());
    }

    @ParameterizedTest
    @MethodSource("policiesOfFive")
    void deniedRequestLeavesStateUntouched(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);
        assertThat(now(limiter.tryAcquire(key, 3)).allowed()).isTrue();
        assertThat(now(limiter.tryAcquire(key, 3)).allowed()).isFalse();
        assertThat(now(limiter.tryAcquire(key, 2)).allowed()).isTrue();
        assertThat(now(limiter.tryAcquire(key, 1)).allowed()).isFalse();
    }

    @ParameterizedTest
    @MethodSource("policiesOfFive")
    void keysHaveStatesOfTheirOwn(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);
        assertThat(now(limiter.tryAcquire(key, LIMIT)).allowed()).isTrue();
        assertThat(now(limiter.tryAcquire(key + "x", LIMIT)).allowed()).isTrue();
        assertThat(now(limiter.tryAcquire(key)).allowed()).isFalse();
    }

    @ParameterizedTest
    @MethodSource("policiesOfFive")
    void limitersHaveStatesOfTheirOwn(RateLimitPolicy policy) {
        assertThat(now(limiter(policy).tryAcquire(key, LIMIT)).allowed()).isTrue();
        assertThat(now(limiter(policy).tryAcquire(key, LIMIT)).allowed()).isTrue();
    }

    @ParameterizedTest
    @MethodSource("policiesOfFive")
    void nothingIsTakenBeforeSubscriptionAndEachOneAsksAgain(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);
        Mono<Decision> request = limiter.tryAcquire(key, LIMIT);
        assertThat(now(limiter.peek(key)).remaining()).isEqualTo(LIMIT);
        assertThat(now(request).allowed()).isTrue();
        assertThat(now(request).allowed()).isFalse();
    }

    @ParameterizedTest
    @MethodSource("policiesOfFive")
    void peekTakesNothing(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);
        Decision decision = now(limiter.peek(key, LIMIT));
        assertThat(decision.allowed()).isTrue();
        assertThat(decision.debit()).isEmpty();
        assertThat(now(limiter.tryAcquire(key, LIMIT)).allowed()).isTrue();
        assertThat(now(limiter.peek(key)).allowed()).isFalse();
    }

    @ParameterizedTest
    @MethodSource("policiesOfFive")
    void resetForgetsWhatWasSpent(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);
        now(limiter.tryAcquire(key, LIMIT));
        limiter.reset(key).block(PATIENCE);
        assertThat(now(limiter.tryAcquire(key, LIMIT)).allowed()).isTrue();
    }

    @ParameterizedTest
    @MethodSource("policiesOfFive")
    void debitFromBeforeTheResetIsNotRefunded(RateLimitPolicy policy) {
        assumeTrue(refusesRefundsFromBeforeAReset(), "the store says so");
        RateLimiter limiter = limiter(policy);
        Decision before = now(limiter.tryAcquire(key, LIMIT));
        limiter.reset(key).block(PATIENCE);
        Decision after = now(limiter.tryAcquire(key, LIMIT));
        assertThat(after.allowed()).isTrue();
        limiter.refund(before).block(PATIENCE);
        assertThat(now(limiter.peek(key)).remaining()).isZero();
        limiter.refund(after).block(PATIENCE);
        assertThat(now(limiter.peek(key)).remaining()).isGreaterThanOrEqualTo(LIMIT - 1);
    }

    @ParameterizedTest
    @MethodSource("policiesOfFive")
    void refundGivesBackOnce(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);
        now(limiter.tryAcquire(key, 3));
        Decision two = now(limiter.tryAcquire(key, 2));
        limiter.refund(two).then(limiter.refund(two)).block(PATIENCE);
        long remaining = now(limiter.peek(key)).remaining();
        // A bucket does not give back what it may have refilled since: that much of a permit is lost.
        assertThat(remaining).isBetween(1L, 2L);
        assertThat(now(limiter.tryAcquire(key, 3)).allowed()).isFalse();
    }

    @ParameterizedTest
    @MethodSource("policiesOfFive")
    void denialAndPeekGiveNothingBack(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);
        Decision peeked = now(limiter.peek(key));
        now(limiter.tryAcquire(key, LIMIT));
        Decision denied = now(limiter.tryAcquire(key));
        limiter.refund(denied).then(limiter.refund(peeked)).block(PATIENCE);
        assertThat(now(limiter.peek(key)).remaining()).isZero();
    }

    @Test
    void refundOfAnotherLimitersDecisionIsRefused() {
        Decision decision = now(limiter(TokenBucket.perHour(LIMIT)).tryAcquire(key));
        RateLimiter other = limiter(TokenBucket.perHour(LIMIT));
        assertThatThrownBy(() -> other.refund(decision))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("decision must come from limiter");
    }

    @ParameterizedTest
    @MethodSource("policiesOfFive")
    void askingForMoreThanTheCapacityFailsAtOnce(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);
        for (long permits : new long[] {LIMIT + 1, Long.MAX_VALUE}) {
            StepVerifier.create(limiter.acquire(key, permits))
                    .expectErrorSatisfies(error -> assertThat(error)
                            .isInstanceOf(PermitsExceedCapacityException.class)
                            .hasMessageContaining("permits " + permits + " can never be allowed"))
                    .verify(PATIENCE);
        }
        assertThat(now(limiter.peek(key)).remaining()).isEqualTo(LIMIT);
    }

    @ParameterizedTest
    @MethodSource("policiesOfFive")
    void waitThatIsKnownToBeTooLongIsDeniedAndCostsNothing(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);
        now(limiter.tryAcquire(key, 3));
        Decision denied = now(limiter.acquire(key, 3, ofSeconds(5)));
        assertThat(denied.allowed()).isFalse();
        assertThat(denied.retryAfter())
                .hasValueSatisfying(after -> assertThat(after).isGreaterThan(ofSeconds(5)));
        assertThat(now(limiter.acquire(key, 2, ZERO)).allowed()).isTrue();
    }

    @ParameterizedTest
    @MethodSource("policiesOfFive")
    void deadlineInTheContextBoundsTheWait(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);
        now(limiter.tryAcquire(key, LIMIT));
        Decision denied = now(limiter.acquire(key).contextWrite(RateLimitContext.deadline(ofSeconds(5))));
        assertThat(denied.allowed()).isFalse();
    }

    @ParameterizedTest
    @MethodSource("policiesOfFive")
    void concurrentAsksShareTheLimitExactly(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);
        Long allowed = Flux.range(0, 200)
                .flatMap(i -> limiter.tryAcquire(key).subscribeOn(Schedulers.boundedElastic()), 64)
                .filter(Decision::allowed)
                .count()
                .block(PATIENCE);
        assertThat(allowed).isEqualTo(LIMIT);
    }

    static Stream<RateLimitPolicy> policiesThatRecoverSoon() {
        return Stream.of(
                TokenBucket.of(1, ofMillis(20)),
                Gcra.of(1, ofMillis(20)),
                LeakyBucket.of(1, ofMillis(20)),
                LeakyBucket.of(1, ofMillis(20)).strictSpacing(),
                WarmUp.of(1, ofMillis(2), ofMillis(100)),
                FixedWindow.of(1, ofMillis(20)),
                FixedWindow.of(1, ofMillis(20)).fromFirstRequest(),
                SlidingWindowLog.of(1, ofMillis(20)),
                SlidingWindowCounter.of(1, ofMillis(20)),
                Policies.all(Gcra.of(1, ofMillis(20)), FixedWindow.of(1, ofMillis(20))));
    }

    @ParameterizedTest
    @MethodSource("policiesThatRecoverSoon")
    void everyWaiterHasItsTurn(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);
        Long allowed = Flux.range(0, 8)
                .flatMap(i -> limiter.acquire(key), 8)
                .filter(Decision::allowed)
                .count()
                .block(PATIENCE);
        assertThat(allowed).isEqualTo(8);
    }

    @Test
    void tryAcquireDoesNotOvertakeWaiters() {
        RateLimiter limiter = limiter(TokenBucket.of(3, ofHours(3)));
        now(limiter.tryAcquire(key, 2));
        Disposable wait = limiter.acquire(key, 3).subscribe();
        Decision denied = now(limiter.tryAcquire(key));
        assertThat(denied.allowed()).isFalse();
        assertThat(DirectLimiter.of(limiter).tryAcquireNow(key, 1)).isFalse();
        assertThat(denied.retryAfter())
                .hasValueSatisfying(after -> assertThat(after).isGreaterThan(ofHours(2)));
        wait.dispose();
        assertThat(now(limiter.tryAcquire(key)).allowed()).isTrue();
    }

    @Test
    void pausedKeyIsDeniedUntilThePauseEnds() {
        RateLimiter limiter = limiter(TokenBucket.perHour(LIMIT));
        limiter.pause(key, ofHours(1)).block(PATIENCE);
        Decision denied = now(limiter.tryAcquire(key));
        assertThat(denied.allowed()).isFalse();
        assertThat(denied.retryAfter())
                .hasValueSatisfying(after -> assertThat(after).isBetween(ofSeconds(3000), ofHours(1)));
        assertThat(now(limiter.tryAcquire(key + "x")).allowed()).isTrue();
        limiter.pause(key, ZERO).block(PATIENCE);
        assertThat(now(limiter.tryAcquire(key)).allowed()).isTrue();
    }

    @Test
    void pauseOfAtLeastALengthNeverShortensALongerOne() {
        RateLimiter limiter = limiter(TokenBucket.perHour(LIMIT));
        limiter.pauseAtLeast(key, ofHours(2)).block(PATIENCE);
        limiter.pauseAtLeast(key, ofHours(1)).block(PATIENCE);
        limiter.pauseAtLeast(key, ZERO).block(PATIENCE);
        assertThat(now(limiter.tryAcquire(key)).retryAfter())
                .hasValueSatisfying(after -> assertThat(after).isBetween(ofSeconds(6600), ofHours(2)));
        limiter.pauseAtLeast(key, ofHours(3)).block(PATIENCE);
        assertThat(now(limiter.tryAcquire(key)).retryAfter())
                .hasValueSatisfying(after -> assertThat(after).isBetween(ofSeconds(10200), ofHours(3)));
        limiter.pause(key, ZERO).block(PATIENCE);
        assertThat(now(limiter.tryAcquire(key)).allowed()).isTrue();
    }

    @Test
    void pauseOfAtLeastALengthDeniesThoseWhoseWaitBecomesTooLong() {
        RateLimiter limiter = limiter(TokenBucket.of(1, ofHours(1)));
        now(limiter.tryAcquire(key));
        Mono<Decision> waiting = limiter.acquire(key, 1, ofHours(2)).cache();
        waiting.subscribe();
        limiter.pauseAtLeast(key, ofHours(3)).block(PATIENCE);
        assertThat(now(waiting).allowed()).isFalse();
    }

    @Test
    void endOfPauseGrantsThoseWhoWait() {
        RateLimiter limiter = limiter(TokenBucket.perHour(LIMIT));
        limiter.pause(key, ofHours(1)).block(PATIENCE);
        Mono<Decision> waiting = limiter.acquire(key).cache();
        waiting.subscribe();
        limiter.pause(key, ZERO).block(PATIENCE);
        assertThat(now(waiting).allowed()).isTrue();
    }

    @Test
    void pauseDeniesThoseWhoseWaitBecomesTooLong() {
        RateLimiter limiter = limiter(TokenBucket.of(1, ofHours(1)));
        now(limiter.tryAcquire(key));
        Mono<Decision> waiting = limiter.acquire(key, 1, ofHours(2)).cache();
        waiting.subscribe();
        limiter.pause(key, ofHours(3)).block(PATIENCE);
        assertThat(now(waiting).allowed()).isFalse();
    }

    @Test
    void closingFailsThoseWhoWaitAndThoseWhoCome() {
        RateLimiter limiter = limiter(TokenBucket.of(1, ofHours(1)));
        now(limiter.tryAcquire(key));
        Mono<Decision> waiting = limiter.acquire(key).cache();
        waiting.subscribe(decision -> {}, error -> {});
        limiter.close().block(PATIENCE);
        for (Mono<Decision> request : List.of(waiting, limiter.acquire(key), limiter.tryAcquire(key))) {
            StepVerifier.create(request)
                    .expectErrorSatisfies(error -> assertThat(error)
                            .isInstanceOf(RateLimiterClosedException.class)
                            .hasMessageContaining(limiter.name()))
                    .verify(PATIENCE);
        }
        assertThat(DirectLimiter.of(limiter).tryAcquireNow(key, 1)).isFalse();
    }

    @Test
    void compositeNamesThePartThatBinds() {
        TokenBucket loose = TokenBucket.perHour(10);
        SlidingWindowLog tight = SlidingWindowLog.of(2, ofHours(1));
        RateLimiter limiter = limiter(Policies.all(loose, tight));
        assertThat(now(limiter.tryAcquire(key, 2)).policy()).isEqualTo(tight);
        Decision denied = now(limiter.tryAcquire(key));
        assertThat(denied.allowed()).isFalse();
        assertThat(denied.policy()).isEqualTo(tight);
        assertThat(denied.limit()).isEqualTo(2);
    }

    @Test
    void compositeResetsWhenAllItsPartsHave() {
        RateLimiter limiter = limiter(Policies.all(TokenBucket.perHour(2), SlidingWindowLog.of(100, ofHours(20))));
        Decision allowed = now(limiter.tryAcquire(key));
        assertThat(allowed.policy()).isEqualTo(TokenBucket.perHour(2));
        Decision denied = now(limiter.tryAcquire(key, 2));
        assertThat(denied.policy()).isEqualTo(TokenBucket.perHour(2));
        for (Decision decision : List.of(allowed, denied, now(limiter.peek(key)))) {
            assertThat(decision.resetAfter().orElseThrow()).as("%s", decision).isBetween(ofHours(19), ofHours(20));
        }
    }

    @Test
    void leakyBucketInACompositeHasItsBoundedQueue() {
        RateLimiter limiter =
                limiter(Policies.all(LeakyBucket.of(1, ofHours(1)).withQueue(5), TokenBucket.perSecond(1_000)));
        now(limiter.tryAcquire(key));
        Sinks.Many<Decision> decisions = Sinks.many().unicast().onBackpressureBuffer();
        List<Disposable> waits = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            waits.add(limiter.acquire(key, 1, ofDays(1))
                    .subscribe(decision -> decisions.emitNext(decision, busyLooping(PATIENCE))));
        }
        List<Decision> denied = decisions.asFlux().take(3).collectList().block(PATIENCE);
        assertThat(denied).hasSize(3).noneMatch(Decision::allowed);
        assertThat(now(limiter.acquire(key, 1, ofDays(1))).allowed()).isFalse();
        assertThat(waits).as("who waits").filteredOn(wait -> !wait.isDisposed()).hasSize(5);
        waits.forEach(Disposable::dispose);
    }

    @Test
    void acquireAllTakesEverythingOrNothing() {
        RateLimiter perUser = limiter(TokenBucket.perHour(3));
        RateLimiter global = limiter(TokenBucket.perHour(2));
        Mono<JointDecision> both =
                RateLimiter.acquireAll(List.of(RateLimiter.permits(perUser, key), RateLimiter.permits(global, "*")));
        assertThat(both.block(PATIENCE).allowed()).isTrue();
        assertThat(both.block(PATIENCE).allowed()).isTrue();
        JointDecision denied = both.block(PATIENCE);
        assertThat(denied.allowed()).isFalse();
        assertThat(denied.binding().policy()).isEqualTo(global.policy());
        assertThat(denied.decisions()).hasSize(2);
        assertThat(now(perUser.peek(key)).resetAfter().orElseThrow())
                .as("the third was given back but for what refilled meanwhile")
                .isLessThanOrEqualTo(ofSeconds(2 * 1200 + 1));
    }

    @Test
    void policyPerKeyIsAskedForOnceAndDecides() {
        AtomicInteger lookUps = new AtomicInteger();
        RateLimiter limiter = RateLimiter.builder(TokenBucket.perHour(2))
                .store(store())
                .policyPerKey(
                        name -> Mono.fromSupplier(() -> {
                            lookUps.incrementAndGet();
                            return name.startsWith("vip") ? TokenBucket.perHour(4) : null;
                        }),
                        ofHours(1))
                .build();
        opened.add(limiter);
        assertThat(now(limiter.tryAcquire("vip" + key, 4)).allowed()).isTrue();
        assertThat(now(limiter.tryAcquire("vip" + key)).allowed()).isFalse();
        assertThat(now(limiter.tryAcquire(key, 2)).allowed()).isTrue();
        assertThat(now(limiter.tryAcquire(key)).allowed()).isFalse();
        assertThat(lookUps).hasValue(2);
    }
}
