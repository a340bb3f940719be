package io.github.reactorratelimit;

import static io.github.reactorratelimit.RateLimiter.permits;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.RateLimiter.PermitRequest;
import io.github.reactorratelimit.operator.RateLimitOperators;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Requests that are decided in memory, on the subscriber's thread. */
class ImmediateRequestTest {

    private final RateLimiter limiter = RateLimiter.of(TokenBucket.of(5, Duration.ofDays(1)));

    private long spent() {
        Decision seen = limiter.peek("k").block();
        return seen.limit() - seen.remaining();
    }

    /** Requests nothing by itself. */
    private static <T> BaseSubscriber<T> idle() {
        return new BaseSubscriber<>() {
            @Override
            protected void hookOnSubscribe(Subscription subscription) {}
        };
    }

    @Test
    void callThatWaitsForALeaseIsCountedOnce() {
        List<Boolean> decided = new ArrayList<>();
        RateLimiter one = RateLimiter.builder(ConcurrencyLimit.of(1))
                .scheduler(Schedulers.immediate())
                .recorder(new RateLimitRecorder() {
                    @Override
                    public void decided(boolean allowed, long permits) {
                        decided.add(allowed);
                    }
                })
                .build();
        Lease held = one.acquireLease("k", 1, Duration.ZERO).block();
        Mono.just(1)
                .transform(RateLimitOperators.limitRate(one, spec -> spec.key("k")))
                .subscribe();
        assertThat(decided).containsExactly(true);
        held.release().block();
        assertThat(decided).containsExactly(true, true);
    }

    @Test
    void nothingIsTakenBeforeTheSubscriberRequests() {
        BaseSubscriber<Decision> subscriber = idle();
        limiter.tryAcquire("k", 2).subscribe(subscriber);
        assertThat(spent()).isZero();

        subscriber.request(1);
        assertThat(spent()).isEqualTo(2);
    }

    @Test
    void cancelBeforeTheRequestTakesNothing() {
        BaseSubscriber<Decision> subscriber = idle();
        limiter.tryAcquire("k").subscribe(subscriber);
        subscriber.cancel();
        subscriber.request(1);
        assertThat(spent()).isZero();
    }

    @Test
    void secondRequestDecidesNothing() {
        BaseSubscriber<Decision> subscriber = idle();
        limiter.tryAcquire("k").subscribe(subscriber);
        subscriber.request(1);
        subscriber.request(1);
        assertThat(spent()).isEqualTo(1);
    }

    /** The clock is read while the limiter decides: a cancel at that moment comes from another thread in real life. */
    @Test
    void cancelWhileTheLimiterDecidesReturnsThePermits() {
        AtomicReference<Runnable> atNow = new AtomicReference<>(() -> {});
        RateLimiter hooked = RateLimiter.builder(TokenBucket.of(5, Duration.ofDays(1)))
                .scheduler(new HookedClock(() -> atNow.getAndSet(() -> {}).run()))
                .build();
        BaseSubscriber<Decision> one = idle();
        hooked.tryAcquire("k").subscribe(one);
        atNow.set(one::cancel);
        one.request(1);
        assertThat(hooked.peek("k").block().remaining()).isEqualTo(5);

        BaseSubscriber<JointDecision> all = idle();
        RateLimiter.acquireAll(List.of(permits(hooked, "k"), permits(hooked, "l")))
                .subscribe(all);
        atNow.set(all::cancel);
        all.request(1);
        assertThat(hooked.peek("k").block().remaining()).isEqualTo(5);
        assertThat(hooked.peek("l").block().remaining()).isEqualTo(5);
    }

    @Test
    void denialOfOneLimiterReturnsWhatTheOthersTook() {
        RateLimiter full = RateLimiter.of(TokenBucket.of(1, Duration.ofDays(1)));
        full.tryAcquire("k").block();
        JointDecision joint = RateLimiter.acquireAll(List.of(new PermitRequest(limiter, "k", 3), permits(full, "k")))
                .block();
        assertThat(joint.allowed()).isFalse();
        assertThat(joint.decisions()).extracting(Decision::allowed).containsExactly(true, false);
        assertThat(spent()).isZero();
    }

    @Test
    void closedLimiterFailsTheRequestAndReturnsWhatTheOthersTook() {
        RateLimiter closed = RateLimiter.of(TokenBucket.of(1, Duration.ofDays(1)));
        Mono<JointDecision> both =
                RateLimiter.acquireAll(List.of(new PermitRequest(limiter, "k", 3), permits(closed, "k")));
        closed.close().block();
        assertThatThrownBy(both::block).isInstanceOf(RateLimiterClosedException.class);
        assertThat(spent()).isZero();
    }

    @Test
    void leaseOfAnOperatorThatIsCancelledInOnSubscribeIsReturnedAndTheSourceNotSubscribed() {
        RateLimiter inFlight = RateLimiter.of(ConcurrencyLimit.of(1));
        AtomicReference<String> subscribed = new AtomicReference<>("no");
        Mono<Integer> source = Mono.just(1).doOnSubscribe(s -> subscribed.set("yes"));
        BaseSubscriber<Integer> leaving = new BaseSubscriber<>() {
            @Override
            protected void hookOnSubscribe(Subscription subscription) {
                cancel();
            }
        };
        source.transform(RateLimitOperators.<Integer>limitRate(
                        inFlight, spec -> spec.key("k").reject()))
                .subscribe(leaving);
        assertThat(subscribed).hasValue("no");
        assertThat(inFlight.peek("k").block().remaining()).isEqualTo(1);
    }
}
