package io.github.reactorratelimit.fairness;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.Reservation;
import io.github.reactorratelimit.fairness.RequestedPermits.Form;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.util.context.ContextView;

/** A class of a {@link FairShare} as a limiter: its keys are the tenants, and all of them share one key of the limiter behind it. */
final class ClassLimiter implements RateLimiter, DirectLimiter {

    private final FairCalls calls;
    private final FairCalls.ToRank ranks;
    private final boolean hasFastPath;
    private final RateLimiter limiter;
    private final DirectLimiter direct;
    private final String key;

    /** @param alwaysKnown whether there is a rank for every subscriber */
    ClassLimiter(FairCalls calls, FairCalls.ToRank ranks, boolean alwaysKnown) {
        this.calls = calls;
        this.ranks = ranks;
        this.limiter = calls.limiter();
        this.hasFastPath = alwaysKnown && !limiter.policy().needsRelease();
        this.direct = DirectLimiter.of(limiter);
        this.key = calls.key();
    }

    @Override
    public Mono<Decision> tryAcquire(String tenant, long permits) {
        return acquire(tenant, permits, Duration.ZERO);
    }

    @Override
    public @Nullable Decision decideNow(String tenant, long permits, boolean waits) {
        FairCalls.checkTenant(tenant);
        FairCalls.checkPermits(permits);
        return mayPass(tenant) ? direct.decideNow(key, permits, waits) : null;
    }

    @Override
    public Mono<Decision> decideLater(String tenant, long permits, long maxWaitNanos, ContextView context) {
        return acquire(tenant, permits, Duration.ofNanos(maxWaitNanos));
    }

    /** There are no waiters, and the call would not fail if there were: a wrong class or weight is not found out under load only. */
    private boolean mayPass(String tenant) {
        return hasFastPath && calls.isEmpty() && !calls.isClosed() && calls.hasWeight(tenant);
    }

    @Override
    public Mono<Decision> acquire(String tenant, long permits, Duration maxWait) {
        if (limiter.policy().needsRelease()) {
            throw new IllegalStateException("a ConcurrencyLimit needs a release: use acquireLease(…), use(…) or the"
                    + " limitRate operator instead of acquire");
        }
        return calls.await(tenant, ranks, new RequestedPermits(Form.SPENT, permits), maxWait)
                .cast(Decision.class);
    }

    @Override
    public Mono<Lease> acquireLease(String tenant, long permits, Duration maxWait) {
        if (!limiter.policy().needsRelease()) {
            throw new IllegalStateException("acquireLease needs a ConcurrencyLimit, whose permits come back by release;"
                    + " use acquire(…) with " + limiter.policy());
        }
        return calls.await(tenant, ranks, new RequestedPermits(Form.LEASED, permits), maxWait)
                .cast(Lease.class);
    }

    @Override
    public Mono<Reservation> reserve(String tenant, long estimate, Duration maxWait) {
        if (!limiter.policy().settles()) {
            throw new IllegalStateException("what " + limiter.policy() + " gave out cannot be settled");
        }
        return calls.await(tenant, ranks, new RequestedPermits(Form.RESERVED, estimate), maxWait)
                .cast(Reservation.class);
    }

    @Override
    public Mono<Decision> peek(String tenant, long permits) {
        FairCalls.checkTenant(tenant);
        return limiter.peek(key, FairCalls.checkPermits(permits));
    }

    @Override
    public Mono<Void> reset(String tenant) {
        FairCalls.checkTenant(tenant);
        return limiter.reset(key);
    }

    @Override
    public Mono<Void> refund(Decision decision) {
        return limiter.refund(decision);
    }

    @Override
    public Mono<Void> pause(String tenant, Duration duration) {
        FairCalls.checkTenant(tenant);
        return limiter.pause(key, duration);
    }

    @Override
    public Mono<Void> pauseAtLeast(String tenant, Duration duration) {
        FairCalls.checkTenant(tenant);
        return limiter.pauseAtLeast(key, duration);
    }

    @Override
    public String sharedKey(String tenant) {
        FairCalls.checkTenant(tenant);
        return direct.sharedKey(key);
    }

    @Override
    public RateLimitPolicy policy() {
        return limiter.policy();
    }

    @Override
    public Mono<Void> changePolicy(RateLimitPolicy policy) {
        return limiter.changePolicy(policy);
    }

    @Override
    public String name() {
        return limiter.name();
    }

    @Override
    public Mono<Void> close() {
        return calls.close();
    }

    @Override
    public boolean isDisposed() {
        return calls.isClosed();
    }

    @Override
    public String toString() {
        return "a class of a FairShare of " + limiter;
    }
}
