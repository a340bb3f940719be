package io.github.reactorratelimit.local;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.Reservation;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Debts in virtual time: who waits for whom, and when they end. */
class DebtTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final List<Decision> answers = new ArrayList<>();

    private RateLimiter limiter(RateLimitPolicy policy) {
        return RateLimiter.builder(policy).scheduler(time).build();
    }

    private void ask(Mono<Decision> request) {
        request.subscribe(answers::add);
        time.advanceTimeBy(Duration.ZERO);
    }

    @Test
    void debtDelaysThoseWhoWaitAlready() {
        RateLimiter limiter = limiter(TokenBucket.perSecond(10));
        Reservation reserved = limiter.reserve("k", 10).block();
        ask(limiter.acquire("k"));

        reserved.settle(15).block();

        time.advanceTimeBy(ofMillis(599));
        assertThat(answers).isEmpty();
        time.advanceTimeBy(ofMillis(1));
        assertThat(answers).singleElement().matches(Decision::allowed);
    }

    @Test
    void debtDeniesThoseWhoseWaitBecomesTooLong() {
        RateLimiter limiter = limiter(TokenBucket.perSecond(10));
        Reservation reserved = limiter.reserve("k", 10).block();
        ask(limiter.acquire("k", 1, ofMillis(300)));

        reserved.settle(15).block();
        time.advanceTimeBy(Duration.ZERO);

        assertThat(answers).singleElement().matches(denied -> !denied.allowed());
    }

    @Test
    void whatIsGivenBackMovesThoseWhoWaitUp() {
        RateLimiter limiter = limiter(TokenBucket.perSecond(10));
        Reservation reserved = limiter.reserve("k", 10).block();
        ask(limiter.acquire("k", 5));
        reserved.settle(5).block();
        time.advanceTimeBy(Duration.ZERO);
        assertThat(answers).singleElement().matches(Decision::allowed);
    }

    @Test
    void retryAfterIncludesTheDebtToTheTick() {
        RateLimiter limiter = limiter(TokenBucket.perSecond(10));
        limiter.reserve("k", 10).flatMap(reserved -> reserved.settle(15)).block();
        assertThat(limiter.peek("k").block().retryAfter()).contains(ofMillis(600));
        time.advanceTimeBy(ofMillis(600).minusNanos(1));
        assertThat(limiter.tryAcquire("k").block().allowed()).isFalse();
        time.advanceTimeBy(Duration.ofNanos(1));
        assertThat(limiter.tryAcquire("k").block().allowed()).isTrue();
    }

    @Test
    void windowThatHasEndedGivesNothingBackAndTheCurrentOneIsCharged() {
        RateLimiter limiter = limiter(FixedWindow.of(10, ofSeconds(1)).fromFirstRequest());
        Reservation less = limiter.reserve("less", 5).block();
        Reservation more = limiter.reserve("more", 5).block();
        time.advanceTimeBy(ofSeconds(1));
        limiter.tryAcquire("less", 4).block();

        less.settle(3).block();
        more.settle(8).block();

        assertThat(limiter.peek("less").block().remaining()).isEqualTo(6);
        assertThat(limiter.peek("more").block().remaining()).isEqualTo(7);
    }

    @Test
    void debtOfAWindowEndsWithIt() {
        RateLimiter limiter = limiter(FixedWindow.of(10, ofSeconds(1)).fromFirstRequest());
        limiter.reserve("k", 5).flatMap(reserved -> reserved.settle(18)).block();
        time.advanceTimeBy(ofSeconds(1).minusNanos(1));
        assertThat(limiter.peek("k").block().allowed()).isFalse();
        time.advanceTimeBy(Duration.ofNanos(1));
        assertThat(limiter.peek("k").block().remaining()).isEqualTo(10);
    }

    @Test
    void chargeGoesToThePolicyThatTheKeyHasNow() {
        TokenBucket small = TokenBucket.of(10, Duration.ofDays(1));
        TokenBucket large = TokenBucket.of(100, Duration.ofDays(1));
        List<RateLimitPolicy> plan = new ArrayList<>(List.of(small));
        RateLimiter limiter = RateLimiter.builder(small)
                .scheduler(time)
                .policyPerKey(key -> Mono.fromSupplier(() -> plan.get(0)), ofSeconds(1))
                .build();
        Reservation reserved = limiter.reserve("k", 10).block();
        plan.set(0, large);
        time.advanceTimeBy(ofSeconds(2));
        assertThat(limiter.peek("k").block().remaining()).isEqualTo(90);

        assertThat(reserved.settle(40).block().uncharged()).isZero();

        assertThat(limiter.peek("k").block().remaining()).isEqualTo(60);
    }
}
