package io.github.reactorratelimit;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofDays;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.reactorratelimit.testing.Ledger;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** What every store must do with reservations. Policies recover over hours: nothing comes back by itself during a test. */
public abstract class SettlingContract {

    protected static final Duration PATIENCE = ofSeconds(30);
    private static final int LIMIT = 5;
    private static final int TRACE_STEPS = 400;

    private final List<RateLimiter> opened = new ArrayList<>();
    private final String key = "settling-" + UUID.randomUUID();
    private final Ledger ledger = new Ledger();

    /** The store under test. */
    protected abstract RateLimitStore store();

    /** For limiters that count together, and know at once what the others did. */
    protected RateLimitStore sharedStore() {
        return store();
    }

    /** How many limiters of one name count together. */
    protected int instances() {
        return 1;
    }

    /** Whether the store takes the policy. */
    protected boolean holds(RateLimitPolicy policy) {
        return true;
    }

    private RateLimiter limiter(RateLimitPolicy policy) {
        return limiter(policy, builder -> builder);
    }

    private RateLimiter limiter(RateLimitPolicy policy, UnaryOperator<RateLimiterBuilder> options) {
        return limiters(1, policy, this::store, options).get(0);
    }

    private List<RateLimiter> limiters(
            int count,
            RateLimitPolicy policy,
            Supplier<RateLimitStore> stores,
            UnaryOperator<RateLimiterBuilder> options) {
        assumeTrue(holds(policy), () -> "the store refuses " + policy);
        String name = "settling-" + UUID.randomUUID();
        List<RateLimiter> limiters = Stream.generate(() -> options.apply(
                                RateLimiter.builder(policy).name(name).recorder(ledger))
                        .store(stores.get())
                        .build())
                .limit(count)
                .toList();
        opened.addAll(limiters);
        return limiters;
    }

    @AfterEach
    void closeLimiters() {
        Flux.fromIterable(opened).flatMap(RateLimiter::close).blockLast(PATIENCE);
    }

    private static <T> T now(Mono<T> request) {
        T answer = request.block(PATIENCE);
        assertThat(answer).isNotNull();
        return answer;
    }

    private long remaining(RateLimiter limiter) {
        return now(limiter.peek(key)).remaining();
    }

    static Stream<RateLimitPolicy> policiesOfFive() {
        return RateLimiterContract.policiesOfFive();
    }

    @ParameterizedTest
    @MethodSource("policiesOfFive")
    void settlingByLessGivesTheDifferenceBack(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);
        Reservation reserved = now(limiter.reserve(key, 4));
        assertThat(remaining(limiter)).isEqualTo(1);
        assertThat(reserved.estimate()).isEqualTo(4);

        assertThat(now(reserved.settle(1))).isEqualTo(new Settlement(4, 1, 0, false));

        assertThat(remaining(limiter)).isEqualTo(4);
    }

    @ParameterizedTest
    @MethodSource("policiesOfFive")
    void settlingByNothingGivesAllBack(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);
        now(now(limiter.reserve(key, LIMIT)).settle(0));
        assertThat(remaining(limiter)).isEqualTo(LIMIT);
    }

    @ParameterizedTest
    @MethodSource("policiesOfFive")
    void settlingByTheEstimateChangesNothing(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);
        now(now(limiter.reserve(key, 2)).settle(2));
        assertThat(remaining(limiter)).isEqualTo(3);
    }

    @ParameterizedTest
    @MethodSource("policiesOfFive")
    void settlingByMoreIsChargedWithoutAsking(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);
        now(now(limiter.reserve(key, 1)).settle(4));
        assertThat(remaining(limiter)).isEqualTo(1);
    }

    @ParameterizedTest
    @MethodSource("policiesOfFive")
    void whatIsOverdrawnIsADebtThatOthersSee(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);
        Reservation reserved = now(limiter.reserve(key, LIMIT));
        Duration withoutDebt = now(limiter.peek(key)).retryAfter().orElseThrow();

        assertThat(now(reserved.settle(LIMIT + 3)).uncharged()).isZero();

        Decision denied = now(limiter.tryAcquire(key));
        assertThat(denied.allowed()).isFalse();
        assertThat(denied.remaining()).isZero();
        Duration withDebt = denied.retryAfter().orElseThrow();
        assertThat(withDebt).isGreaterThan(withoutDebt.minusMinutes(1));
        assertThat(now(limiter.peek(key, LIMIT)).retryAfter().orElseThrow())
                .isGreaterThanOrEqualTo(withDebt.minusMinutes(1));
    }

    @Test
    void debtOfABucketIsPaidOffByTime() {
        RateLimiter limiter = limiter(TokenBucket.of(LIMIT, ofHours(1)));
        now(now(limiter.reserve(key, LIMIT)).settle(LIMIT + 3));
        Duration fourPermits = ofHours(4).dividedBy(LIMIT);
        assertThat(now(limiter.tryAcquire(key)).retryAfter().orElseThrow())
                .isBetween(fourPermits.minusMinutes(1), fourPermits);
    }

    @ParameterizedTest
    @MethodSource("policiesOfFive")
    void debtIsBoundedByOneCapacityAndTheRestIsTold(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);
        assertThat(now(now(limiter.reserve(key, 1)).settle(100)).uncharged()).isEqualTo(100 - 2 * LIMIT);
        assertThat(ledger.uncharged()).isEqualTo(100 - 2 * LIMIT);
    }

    @ParameterizedTest
    @MethodSource("policiesOfFive")
    void debtIsBoundedByWhatTheLimiterWasGiven(RateLimitPolicy policy) {
        RateLimiter none = limiter(policy, builder -> builder.maxDebt(0));
        assertThat(now(now(none.reserve(key, 1)).settle(LIMIT + 1)).uncharged()).isEqualTo(1);
        RateLimiter much = limiter(policy, builder -> builder.maxDebt(100));
        assertThat(now(now(much.reserve(key, 1)).settle(50)).uncharged()).isZero();
        assertThat(now(now(much.reserve(key + 2, 1)).settle(106)).uncharged()).isEqualTo(1);
    }

    @ParameterizedTest
    @MethodSource("policiesOfFive")
    void onlyTheFirstSettlementCounts(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);
        Reservation reserved = now(limiter.reserve(key, 3));
        Mono<Settlement> second = reserved.settle(0);
        now(reserved.settle(2));

        assertThat(now(second)).isEqualTo(new Settlement(3, 2, 0, true));
        assertThat(now(reserved.settle(50))).isEqualTo(new Settlement(3, 2, 0, true));
        reserved.accrue(50).block(PATIENCE);
        limiter.refund(reserved.decision()).block(PATIENCE);

        assertThat(remaining(limiter)).isEqualTo(3);
        assertThat(ledger.open()).isZero();
    }

    @ParameterizedTest
    @MethodSource("policiesOfFive")
    void whatAccruesBeyondTheEstimateIsChargedAtOnce(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);
        Reservation reserved = now(limiter.reserve(key, 2));
        reserved.accrue(1).block(PATIENCE);
        assertThat(remaining(limiter)).isEqualTo(3);
        reserved.accrue(4).block(PATIENCE);
        reserved.accrue(3).block(PATIENCE);
        assertThat(remaining(limiter)).isEqualTo(1);
        now(reserved.settle(5));
        assertThat(remaining(limiter)).isZero();
        assertThat(ledger.settled()).isEqualTo(5);
    }

    @Test
    void deniedReservationIsAnErrorAndCostsNothing() {
        RateLimiter limiter = limiter(TokenBucket.of(LIMIT, ofHours(1)));
        now(limiter.reserve(key, 3));
        assertThatThrownBy(() -> limiter.reserve(key, 3, ZERO).block(PATIENCE))
                .isInstanceOf(RateLimitExceededException.class);
        assertThatThrownBy(() -> limiter.reserve(key, LIMIT + 1).block(PATIENCE))
                .isInstanceOf(PermitsExceedCapacityException.class);
        assertThat(remaining(limiter)).isEqualTo(2);
        assertThat(ledger.open()).isEqualTo(1);
    }

    @Test
    void policiesThatCannotBeSettledAreRefusedWhenCalled() {
        for (RateLimitPolicy policy :
                List.of(LeakyBucket.perSecond(5), WarmUp.perSecond(5, ofSeconds(1)), ConcurrencyLimit.of(5))) {
            if (holds(policy)) {
                RateLimiter limiter = limiter(policy);
                assertThatThrownBy(() -> limiter.reserve(key, 1)).isInstanceOf(IllegalStateException.class);
            }
        }
    }

    @Test
    void waiterIsGrantedByWhatASettlementGivesBack() {
        RateLimiter limiter = limiter(TokenBucket.of(LIMIT, ofHours(1)));
        Reservation reserved = now(limiter.reserve(key, LIMIT));
        Mono<Decision> waiter = limiter.acquire(key, 1).cache();
        waiter.subscribe();

        now(reserved.settle(1));

        assertThat(now(waiter).allowed()).isTrue();
    }

    @Test
    void reservationsAreSettledAfterTheLimiterWasClosed() {
        RateLimiter limiter = limiter(TokenBucket.of(LIMIT, ofHours(1)));
        Reservation less = now(limiter.reserve(key, 2));
        Reservation more = now(limiter.reserve(key, 2));
        limiter.close().block(PATIENCE);
        assertThat(now(less.settle(0)).repeated()).isFalse();
        assertThat(now(more.settle(3)).uncharged()).isZero();
        assertThat(ledger.lost()).isZero();
    }

    static Stream<RateLimitPolicy> policiesOfHundred() {
        return Stream.of(
                TokenBucket.of(100, ofDays(366)),
                TokenBucket.of(100, ofDays(366)).stepwise(),
                Gcra.of(100, ofDays(366)),
                FixedWindow.of(100, ofDays(366)).fromFirstRequest(),
                SlidingWindowLog.of(100, ofDays(366)),
                SlidingWindowCounter.of(100, ofDays(60)),
                Policies.all(
                        FixedWindow.of(100, ofDays(366)).fromFirstRequest(), SlidingWindowLog.of(120, ofDays(366))));
    }

    @ParameterizedTest
    @MethodSource("policiesOfHundred")
    void whatIsSpentIsTheSumOfWhatWasSettledInARandomTrace(RateLimitPolicy policy) {
        followTrace(policy, Seeds.of("trace of " + policy));
    }

    /** After 400 steps of this trace the key was in debt only ten times. */
    @Test
    void whatIsSpentIsTheSumOfWhatWasSettledInATraceThatIsSeldomInDebt() {
        followTrace(SlidingWindowLog.of(100, ofDays(366)), 1901034750639311242L);
    }

    /** Follows a trace until it has seen enough denials and debts: how soon that is depends on the seed. */
    private void followTrace(RateLimitPolicy policy, long seed) {
        List<RateLimiter> limiters = limiters(instances(), policy, this::sharedStore, builder -> builder);
        SettlingTrace trace = new SettlingTrace(limiters, key, new SplittableRandom(seed));
        for (int step = 0; step < TRACE_STEPS || (!trace.hasSeenEnough() && step < 10 * TRACE_STEPS); step++) {
            trace.step();
        }
        assertThat(trace.hasSeenEnough()).isTrue();
    }
}
