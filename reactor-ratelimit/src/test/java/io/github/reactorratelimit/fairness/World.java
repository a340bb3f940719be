package io.github.reactorratelimit.fairness;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import reactor.core.Disposable;
import reactor.test.scheduler.VirtualTimeScheduler;

/** One limit in virtual time, those who share it, and a record of who left when. */
final class World {

    static final String KEY = "downstream";
    static final Duration HOWEVER_LONG = Duration.ofNanos(Long.MAX_VALUE);

    /** One who left. */
    record Departure(int call, String tenant, String callClass, long permits, long atMillis) {}

    final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    final RateLimiter limiter;
    final FairShare share;
    final List<Departure> departures = new ArrayList<>();
    final List<Integer> denied = new ArrayList<>();
    final List<Throwable> failures = new ArrayList<>();
    private int calls;

    World(RateLimitPolicy policy, UnaryOperator<FairShareBuilder> spec) {
        limiter = RateLimiter.builder(policy).scheduler(time).build();
        share = spec.apply(FairShare.over(limiter, KEY).scheduler(time)).build();
    }

    long nowMillis() {
        return time.now(TimeUnit.NANOSECONDS) / 1_000_000;
    }

    void pass(long millis) {
        time.advanceTimeBy(Duration.ofMillis(millis));
    }

    Disposable call(String tenant, String callClass, long permits, Duration maxWait) {
        int call = calls++;
        return share.acquire(tenant, callClass, permits, maxWait)
                .subscribe(decision -> left(call, tenant, callClass, decision), failures::add);
    }

    Disposable call(String tenant, String callClass, long permits) {
        return call(tenant, callClass, permits, HOWEVER_LONG);
    }

    private void left(int call, String tenant, String callClass, Decision decision) {
        if (decision.allowed()) {
            departures.add(new Departure(call, tenant, callClass, decision.permits(), nowMillis()));
        } else {
            denied.add(call);
        }
    }

    int calls() {
        return calls;
    }

    Map<String, Long> permitsByTenant() {
        Map<String, Long> sums = new HashMap<>();
        departures.forEach(departure -> sums.merge(departure.tenant, departure.permits, Long::sum));
        return sums;
    }

    Map<String, Long> permitsByClass() {
        Map<String, Long> sums = new HashMap<>();
        departures.forEach(departure -> sums.merge(departure.callClass, departure.permits, Long::sum));
        return sums;
    }

    List<String> tenants() {
        return departures.stream().map(Departure::tenant).toList();
    }

    List<Long> times() {
        return departures.stream().map(Departure::atMillis).toList();
    }

    /** Nobody waits, and the limiter knows of nobody. */
    void assertQuiet() {
        assertThat(share.queued()).isZero();
        assertThat(limiter.peek(KEY).block().retryAfter().orElse(Duration.ZERO))
                .as("somebody still stands at the limiter")
                .isLessThanOrEqualTo(Duration.ofMillis(10));
    }
}
