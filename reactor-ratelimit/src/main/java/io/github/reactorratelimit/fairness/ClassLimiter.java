package io.github.reactorratelimit.fairness;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.Reservation;
import io.github.reactorratelimit.Verdict;
import java.time.Duration;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** A class of a {@link FairShare} as a limiter: its keys are the tenants, and all of them share one key of the limiter behind it. */
final class ClassLimiter implements RateLimiter, DirectLimiter {

    private static final Duration HOWEVER_LONG = Duration.ofNanos(Long.MAX_VALUE);

    private final FairShare share;
    private final FairShare.ToRank ranks;
    private final boolean alwaysKnown;
    private final RateLimiter limiter;
    private final DirectLimiter direct;
    private final String key;

    /** @param alwaysKnown whether there is a rank for every subscriber */
    ClassLimiter(FairShare share, FairShare.ToRank ranks, boolean alwaysKnown) {
        this.share = share;
        this.ranks = ranks;
        this.alwaysKnown = alwaysKnown;
        this.limiter = share.limiter();
        this.direct = DirectLimiter.of(limiter);
        this.key = share.key();
    }

    @Override
    public Mono<Decision> tryAcquire(String tenant, long permits) {
        return acquire(tenant, permits, Duration.ZERO);
    }

    @Override
    public Verdict decideNow(String tenant, long permits, boolean waits) {
        FairShare.checkTenant(tenant);
        FairShare.checkPermits(permits);
        return mayPass(tenant) ? direct.decideNow(key, permits, waits) : Verdict.UNKNOWN;
    }

    /** Nobody waits, and the call would not fail if somebody did: a wrong class or weight is not found out under load only. */
    private boolean mayPass(String tenant) {
        return alwaysKnown && share.line().isEmpty() && !share.isDisposed() && share.hasWeight(tenant);
    }

    @Override
    public Mono<Decision> acquire(String tenant, long permits, Duration maxWait) {
        if (limiter.policy().needsRelease()) {
            throw new IllegalStateException("a ConcurrencyLimit needs a release: use acquireLease(…), use(…) or the"
                    + " limitRate operator instead of acquire");
        }
        return share.await(tenant, ranks, new Terms(Kind.SPENT, permits), maxWait)
                .cast(Decision.class);
    }

    @Override
    public Mono<Lease> acquireLease(String tenant, long permits, Duration maxWait) {
        if (!limiter.policy().needsRelease()) {
            throw new IllegalStateException("acquireLease needs a ConcurrencyLimit, whose permits come back by release;"
                    + " use acquire(…) with " + limiter.policy());
        }
        return share.await(tenant, ranks, new Terms(Kind.LEASED, permits), maxWait)
                .cast(Lease.class);
    }

    @Override
    public Mono<Reservation> reserve(String tenant, long estimate, Duration maxWait) {
        if (!limiter.policy().settles()) {
            throw new IllegalStateException("what " + limiter.policy() + " gave out cannot be settled");
        }
        return share.await(tenant, ranks, new Terms(Kind.RESERVED, estimate), maxWait)
                .cast(Reservation.class);
    }

    @Override
    public <T> Flux<T> use(String tenant, long permits, Publisher<T> work) {
        if (limiter.policy().needsRelease()) {
            return Flux.usingWhen(acquireLease(tenant, permits, HOWEVER_LONG), lease -> work, Lease::release);
        }
        return acquire(tenant, permits)
                .flatMapMany(decision ->
                        decision.allowed() ? work : Flux.error(new RateLimitExceededException(decision, name())));
    }

    @Override
    public Mono<Decision> peek(String tenant, long permits) {
        FairShare.checkTenant(tenant);
        return limiter.peek(key, FairShare.checkPermits(permits));
    }

    @Override
    public Mono<Void> reset(String tenant) {
        FairShare.checkTenant(tenant);
        return limiter.reset(key);
    }

    @Override
    public Mono<Void> refund(Decision decision) {
        return limiter.refund(decision);
    }

    @Override
    public Mono<Void> pause(String tenant, Duration duration) {
        FairShare.checkTenant(tenant);
        return limiter.pause(key, duration);
    }

    @Override
    public Mono<Void> pauseAtLeast(String tenant, Duration duration) {
        FairShare.checkTenant(tenant);
        return limiter.pauseAtLeast(key, duration);
    }

    @Override
    public String sharedKey(String tenant) {
        FairShare.checkTenant(tenant);
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
        return share.close();
    }

    @Override
    public boolean isDisposed() {
        return share.isDisposed();
    }

    @Override
    public String toString() {
        return "a class of " + share;
    }
}
