package io.github.reactorratelimit.micrometer;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterClosedException;
import io.github.reactorratelimit.TokenBucket;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;
import reactor.test.scheduler.VirtualTimeScheduler;

/** What a limiter in virtual time tells its registry. */
class MeteredLimiterTest {

    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();

    private RateLimiter limiter(RateLimitPolicy policy) {
        return RateLimiter.builder(policy)
                .name("orders")
                .scheduler(time)
                .recorder(MicrometerRecorder.create(registry, "orders"))
                .build();
    }

    private static List<Disposable> subscribeTimes(int n, Mono<Decision> request) {
        List<Disposable> waiting = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            waiting.add(request.subscribe());
        }
        return waiting;
    }

    private double waiters() {
        return registry.get("ratelimit.waiters").gauge().value();
    }

    private Timer waits(String outcome) {
        return registry.get("ratelimit.waits").tag("outcome", outcome).timer();
    }

    private double decisions(String outcome) {
        return registry.get("ratelimit.decisions")
                .tag("outcome", outcome)
                .counter()
                .count();
    }

    private double counted(RateLimitMeter meter) {
        return registry.get(meter.meterName()).counter().count();
    }

    @Test
    void waitersGaugeReturnsToZeroAfterGrantsAndCancels() {
        RateLimiter limiter = limiter(TokenBucket.perSecond(1));
        limiter.acquire("alice").subscribe();
        List<Disposable> waiting = subscribeTimes(4, limiter.acquire("alice"));
        assertThat(waiters()).isEqualTo(4);

        waiting.get(0).dispose();
        waiting.get(2).dispose();
        assertThat(waiters()).isEqualTo(2);

        time.advanceTimeBy(ofSeconds(2));
        assertThat(waiters()).isZero();
        assertThat(waits("granted").count()).isEqualTo(2);
        assertThat(waits("granted").totalTime(TimeUnit.SECONDS)).isEqualTo(1 + 2);
        assertThat(waits("cancelled").count()).isEqualTo(2);
        assertThat(decisions("allowed")).isEqualTo(3);
        assertThat(decisions("denied")).isZero();
        assertThat(counted(RateLimitMeter.PERMITS_TAKEN)).isEqualTo(3);
    }

    @Test
    void waitsEndedByTheCloseOfTheLimiterAreTold() {
        RateLimiter limiter = limiter(TokenBucket.perSecond(1));
        limiter.acquire("alice").subscribe();
        StepVerifier waiting = StepVerifier.create(Flux.mergeDelayError(
                        8, limiter.acquire("alice"), limiter.acquire("bob"), limiter.acquire("bob")))
                .expectNextCount(1)
                .expectError()
                .verifyLater();
        assertThat(waiters()).isEqualTo(2);

        limiter.close().subscribe();
        time.advanceTime();
        waiting.verify(ofSeconds(10));

        assertThat(waiters()).isZero();
        assertThat(waits("closed").count()).isEqualTo(2);
    }

    @Test
    void waitThatAPauseMadeTooLongIsDenied() {
        RateLimiter limiter = limiter(TokenBucket.perSecond(1));
        limiter.acquire("alice").subscribe();
        limiter.acquire("alice", 1, ofSeconds(2)).subscribe();
        assertThat(waiters()).isEqualTo(1);

        limiter.pause("alice", ofSeconds(60)).subscribe();
        time.advanceTime();

        assertThat(waiters()).isZero();
        assertThat(waits("denied").count()).isEqualTo(1);
        assertThat(decisions("denied")).isEqualTo(1);
    }

    @Test
    void answersWithoutAWaitAreNotTimed() {
        RateLimiter limiter = limiter(TokenBucket.perSecond(2));
        limiter.tryAcquire("alice").subscribe();
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("alice", 1)).isTrue();
        limiter.tryAcquire("alice").subscribe();
        limiter.acquire("alice", 1, Duration.ofMillis(1)).subscribe();

        assertThat(decisions("allowed")).isEqualTo(2);
        assertThat(decisions("denied")).isEqualTo(2);
        assertThat(registry.get("ratelimit.waits").timers())
                .extracting(Timer::count)
                .containsOnly(0L);
    }

    @Test
    void refundsAndReleasedLeasesComeBack() {
        RateLimiter bucket = limiter(TokenBucket.perSecond(5));
        bucket.tryAcquire("alice", 3).flatMap(bucket::refund).subscribe();
        assertThat(counted(RateLimitMeter.PERMITS_REFUNDED)).isEqualTo(3);

        RateLimiter inFlight = limiter(ConcurrencyLimit.of(5));
        inFlight.use("alice", 2, Mono.just("done")).subscribe();
        assertThat(counted(RateLimitMeter.PERMITS_REFUNDED)).isEqualTo(5);
        assertThat(counted(RateLimitMeter.PERMITS_TAKEN)).isEqualTo(5);
    }

    @Test
    void noTagOfAnyMeterHoldsAKey() {
        RateLimiter limiter = limiter(TokenBucket.perSecond(1));
        limiter.acquire("s3cret").subscribe();
        limiter.acquire("s3cret")
                .onErrorResume(RateLimiterClosedException.class, closed -> Mono.empty())
                .subscribe();
        limiter.tryAcquire("s3cret").subscribe();
        limiter.close().subscribe();
        time.advanceTime();

        assertThat(registry.getMeters())
                .extracting(Meter::getId)
                .flatExtracting(Meter.Id::getTags)
                .extracting(Tag::getValue)
                .noneMatch(value -> value.contains("s3cret"));
    }

    @Test
    void settlementsAreCounted() {
        RateLimiter limiter = limiter(TokenBucket.perSecond(10));
        limiter.reserve("k", 5).flatMap(reserved -> reserved.settle(2)).block();
        limiter.reserve("k", 5).flatMap(reserved -> reserved.settle(40)).block();
        limiter.reserve("other", 5).block();
        assertThat(registry.get("ratelimit.reservations")
                        .tag("outcome", "reserved")
                        .counter()
                        .count())
                .isEqualTo(3);
        assertThat(registry.get("ratelimit.reservations")
                        .tag("outcome", "settled")
                        .counter()
                        .count())
                .isEqualTo(2);
        assertThat(counted(RateLimitMeter.PERMITS_SETTLED)).isEqualTo(42);
        assertThat(counted(RateLimitMeter.PERMITS_UNCHARGED)).isEqualTo(22);
        assertThat(counted(RateLimitMeter.PERMITS_LOST)).isZero();
    }
}
