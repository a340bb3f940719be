package io.github.reactorratelimit.fairness;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Decision.Degradation;
import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

/** In front of a limiter whose store is away. */
class AwayTest {

    private static final Duration PATIENCE = ofSeconds(60);
    private static final String CLASS = FairShareBuilder.DEFAULT_CLASS;
    private static final long RETRY_NANOS = ofMillis(300).toNanos();

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final List<Decision> told = new ArrayList<>();
    private final List<Throwable> failures = new ArrayList<>();

    /** What the limiter says now to whoever waits. */
    private Decision answer = closed(TokenBucket.perSecond(1), 1);

    /** Leaves those who wait waiting, as the line of a store does that is away. */
    private boolean silent;

    private static Decision closed(RateLimitPolicy policy, long permits) {
        return Decision.deny(policy, permits, RETRY_NANOS).asDegraded(Degradation.CLOSED);
    }

    /** Of a local share. */
    private static Decision spent() {
        return Decision.deny(TokenBucket.perSecond(1), 1, 0, RETRY_NANOS, RETRY_NANOS);
    }

    private FairShare share(RateLimitPolicy policy) {
        RateLimiter limiter = (RateLimiter) Proxy.newProxyInstance(
                RateLimiter.class.getClassLoader(),
                new Class<?>[] {RateLimiter.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "policy" -> policy;
                    case "name" -> "away";
                    case "acquire" -> silent ? Mono.never() : Mono.fromSupplier(() -> answer);
                    case "peek" -> Mono.fromSupplier(() -> answer);
                    case "acquireLease" -> Mono.error(() -> new RateLimitExceededException(answer));
                    default -> throw new UnsupportedOperationException(method.getName());
                });
        return FairShare.over(limiter, "k").scheduler(time).build();
    }

    private void call(FairShare share, Duration maxWait) {
        share.acquire("a", CLASS, 1, maxWait).subscribe(told::add, failures::add);
    }

    @Test
    void whatAClosedLimiterDeniesIsToldAtOnceWithItsMark() {
        FairShare share = share(TokenBucket.perSecond(1));
        for (int i = 0; i < 5; i++) {
            call(share, PATIENCE);
        }
        time.advanceTimeBy(Duration.ZERO);

        assertThat(told).hasSize(5).allSatisfy(decision -> {
            assertThat(decision.degraded()).isTrue();
            assertThat(decision.retryAfter()).contains(Duration.ofNanos(RETRY_NANOS));
        });
        assertThat(share.queued()).isZero();
    }

    @Test
    void leaseThatAClosedLimiterDeniesFailsAtOnceWithItsMark() {
        RateLimitPolicy policy = ConcurrencyLimit.of(1);
        answer = closed(policy, 1);
        Mono<Lease> lease = share(policy).limiter(CLASS).acquireLease("a", 1, PATIENCE);
        lease.subscribe(granted -> {}, failures::add);
        time.advanceTimeBy(Duration.ZERO);

        assertThat(failures)
                .singleElement()
                .isInstanceOfSatisfying(
                        RateLimitExceededException.class,
                        denied -> assertThat(denied.decision().degraded()).isTrue());
    }

    @Test
    void whoWaitsInVainForALocalShareIsDeniedWithItsMark() {
        FairShare share = share(TokenBucket.perSecond(1));
        answer = spent().asDegraded(Degradation.LOCAL);
        call(share, ofSeconds(1));
        time.advanceTimeBy(ofMillis(999));
        assertThat(told).isEmpty();
        time.advanceTimeBy(ofMillis(1));

        assertThat(told)
                .singleElement()
                .matches(decision -> decision.degradation().equals(Optional.of(Degradation.LOCAL)));
    }

    @Test
    void whoWaitsInVainForAStoreThatIsAwayIsDeniedWithTheMark() {
        FairShare share = share(TokenBucket.perSecond(1));
        silent = true;
        call(share, ofSeconds(1));
        time.advanceTimeBy(ofMillis(999));
        assertThat(told).isEmpty();
        time.advanceTimeBy(ofMillis(1));

        assertThat(told).singleElement().matches(Decision::degraded);
    }

    @Test
    void whoWaitsInVainForASilentLimiterWhoseStoreAnswersHasNoMark() {
        FairShare share = share(TokenBucket.perSecond(1));
        silent = true;
        call(share, ofSeconds(1));
        time.advanceTimeBy(ofMillis(500));
        answer = spent();
        time.advanceTimeBy(ofMillis(500));

        assertThat(told).singleElement().matches(decision -> !decision.degraded());
    }

    @Test
    void markEndsWhenTheStoreIsBack() {
        FairShare share = share(TokenBucket.perSecond(1));
        answer = spent().asDegraded(Degradation.LOCAL);
        call(share, ofSeconds(1));
        time.advanceTimeBy(ofMillis(100));
        answer = spent();
        time.advanceTimeBy(ofSeconds(1));

        assertThat(told).singleElement().matches(decision -> !decision.degraded());
    }

    @Test
    void whoDoesNotWaitIsDeniedWithTheMarkBehindOthersToo() {
        FairShare share = share(TokenBucket.perSecond(1));
        answer = spent().asDegraded(Degradation.LOCAL);
        call(share, PATIENCE);
        answer = Decision.wouldAllow(TokenBucket.perSecond(1), 1, 1, 0, Decision.UNKNOWN)
                .asDegraded(Degradation.LOCAL);
        call(share, Duration.ZERO);

        assertThat(told).singleElement().matches(decision -> !decision.allowed() && decision.degraded());
        share.close().block(PATIENCE);
    }
}
