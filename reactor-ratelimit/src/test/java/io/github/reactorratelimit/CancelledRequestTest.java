package io.github.reactorratelimit;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.testing.Drops;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Mono;

/** After a cancel has reached the limiter's subscription no error is sent: nothing ends in {@code onErrorDropped}. */
class CancelledRequestTest {

    private static final String KEY = "k";
    private static final Duration LATER = Duration.ofMillis(1);

    private final ManualScheduler time = new ManualScheduler(0);
    private final Disposable.Swap subscription = Disposables.swap();

    private boolean isCancelledWhenGranted;

    /** Cancels at the moment when the denial is on its way from the queue to the subscriber. */
    private final RateLimitRecorder cancelling = new RateLimitRecorder() {
        @Override
        public void decided(boolean allowed, long permits) {
            if (!allowed || isCancelledWhenGranted) {
                subscription.dispose();
            }
        }
    };

    @BeforeEach
    void listen() {
        Drops.listen();
        Drops.take();
    }

    private RateLimiter limiter(RateLimitPolicy policy) {
        return RateLimiter.builder(policy).scheduler(time).recorder(cancelling).build();
    }

    private void subscribe(Mono<?> request) {
        subscription.update(request.subscribe(value -> {}, error -> {}));
    }

    private void pass(Duration duration) {
        time.advance(duration.toNanos());
        time.runDue();
    }

    @Test
    void cancelThatMeetsTheDenialOfALeaseDropsNoError() {
        RateLimiter limiter = limiter(ConcurrencyLimit.of(1));
        limiter.acquireLease(KEY, 1, Duration.ZERO).block();
        subscribe(limiter.acquireLease(KEY, 1, LATER));
        pass(LATER);
        assertThat(Drops.take()).isEmpty();
    }

    @Test
    void cancelThatMeetsTheDenialOfAReservationDropsNoError() {
        RateLimiter limiter = limiter(FixedWindow.of(1, Duration.ofHours(1)).fromFirstRequest());
        limiter.tryAcquire(KEY).block();
        subscribe(limiter.reserve(KEY, 1, Duration.ofHours(2)));
        limiter.pause(KEY, Duration.ofHours(3)).subscribe();
        time.runDue();
        assertThat(Drops.take()).isEmpty();
    }

    @Test
    void cancelThatMeetsTheGrantOfALeaseReturnsIt() {
        RateLimiter limiter = limiter(ConcurrencyLimit.of(1));
        Lease held = limiter.acquireLease(KEY, 1, Duration.ZERO).block();
        subscribe(limiter.acquireLease(KEY, 1, Duration.ofHours(1)));
        isCancelledWhenGranted = true;
        held.release().block();
        time.runDue();
        assertThat(limiter.peek(KEY).block().remaining()).isOne();
    }

    @Test
    void cancelBetweenCloseAndItsDeliveryDropsNoError() {
        RateLimiter limiter = limiter(TokenBucket.perHour(1));
        limiter.tryAcquire(KEY).block();
        subscribe(limiter.acquire(KEY));
        Mono<Void> closed = limiter.close();
        closed.subscribe();
        subscription.dispose();
        time.runDue();
        closed.block(Duration.ofSeconds(30));
        assertThat(Drops.take()).isEmpty();
    }
}
