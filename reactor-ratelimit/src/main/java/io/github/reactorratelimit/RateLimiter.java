package io.github.reactorratelimit;

import java.time.Duration;
import java.util.List;
import org.reactivestreams.Publisher;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Limits how often something may happen per key. Share one limiter between all streams and calls that count
 * together.
 *
 * <pre>{@code
 * RateLimiter limiter = RateLimiter.of(TokenBucket.perSecond(10));
 *
 * limiter.tryAcquire("alice")                            // never waits: allowed or denied
 * limiter.acquire("alice", 3, Duration.ofMillis(200))    // waits in a queue for 3 permits, at most 200 ms
 * }</pre>
 *
 * <p>Nothing happens before subscription, and each subscription requests permits again. A method refuses bad
 * arguments when it is called: a key that is null, empty or longer than 64 KiB, and permits below 1. Permits
 * above the policy's capacity can never be granted and signal {@link PermitsExceedCapacityException}.
 *
 * <p>Time comes from the limiter's scheduler, which is resolved when the limiter is built. To test in virtual
 * time, build the limiter inside {@code StepVerifier.withVirtualTime}.
 */
public interface RateLimiter extends Disposable {

    /** A limiter whose state lives in this process. */
    static RateLimiter of(RateLimitPolicy policy) {
        return builder(policy).build();
    }

    /** Starts building a limiter. */
    static RateLimiterBuilder builder(RateLimitPolicy policy) {
        return new RateLimiterBuilder(policy);
    }

    /** Requests one permit and never waits. */
    default Mono<Decision> tryAcquire(String key) {
        return tryAcquire(key, 1);
    }

    /**
     * Requests permits and never waits. While other requests wait for the key it is denied, so that it does
     * not overtake them, and its retry-after includes them.
     */
    Mono<Decision> tryAcquire(String key, long permits);

    /** Waits in the key's queue for one permit, without a maximum. */
    default Mono<Decision> acquire(String key) {
        return acquire(key, 1);
    }

    /** Waits in the key's queue for permits, without a maximum. */
    default Mono<Decision> acquire(String key, long permits) {
        return acquire(key, permits, Duration.ofNanos(Long.MAX_VALUE));
    }

    /**
     * Waits in the key's queue for permits. If a permit is available, the caller continues on its own thread.
     * The request is denied immediately, at no cost, if it would exceed {@code maxWait} or the {@linkplain
     * RateLimitContext#deadline deadline} in the Reactor Context, or if the queue is full; it is denied later
     * if a pause or a new policy makes its wait too long. Cancelling leaves the queue, and the waiters behind
     * move up.
     *
     * @param maxWait zero never waits
     */
    Mono<Decision> acquire(String key, long permits, Duration maxWait);

    /** What {@link #tryAcquire} would decide for one permit; takes nothing. */
    default Mono<Decision> peek(String key) {
        return peek(key, 1);
    }

    /** What {@link #tryAcquire} would decide; takes nothing. */
    Mono<Decision> peek(String key, long permits);

    /** Clears the key's usage and ends its pause. */
    Mono<Void> reset(String key);

    /**
     * Gives back the permits of an allowed decision, once. The key never gets more than it would have without
     * that decision. A denied or peeked decision gives nothing back.
     *
     * <pre>{@code
     * limiter.tryAcquire("alice").flatMap(decision -> call.onErrorResume(failed -> limiter.refund(decision).then(Mono.error(failed))));
     * }</pre>
     *
     * @throws IllegalArgumentException if another limiter made the decision
     */
    Mono<Void> refund(Decision decision);

    /**
     * Denies every request of the key for {@code duration} from now; zero ends a pause. Waiters are
     * rescheduled.
     */
    Mono<Void> pause(String key, Duration duration);

    /**
     * {@link #pause} that never shortens a pause: a longer one stays. Use it to pass on a server's
     * Retry-After, because a later answer may name a shorter time than an earlier one.
     */
    Mono<Void> pauseAtLeast(String key, Duration duration);

    /**
     * Takes permits of a {@link ConcurrencyLimit} until the lease is released. A denial is a {@link
     * RateLimitExceededException}. A subscriber that cancels before it gets the lease holds nothing; after
     * that, its owner must release it. An operator in between that drops the lease, such as {@code timeout}
     * at the last moment, loses it: prefer {@link #use}, which releases in every case, and {@code maxWait} to
     * a {@code timeout}.
     *
     * <pre>{@code
     * Flux.usingWhen(limiter.acquireLease("db", 1, Duration.ofSeconds(1)), lease -> query, Lease::release);
     * }</pre>
     */
    Mono<Lease> acquireLease(String key, long permits, Duration maxWait);

    /**
     * Waits for permits, then subscribes to {@code work}. Permits of a {@link ConcurrencyLimit} come back
     * when the work completes, fails or is cancelled.
     */
    default <T> Flux<T> use(String key, long permits, Publisher<T> work) {
        return policy().needsRelease()
                ? Flux.usingWhen(
                        acquireLease(key, permits, Duration.ofNanos(Long.MAX_VALUE)), lease -> work, Lease::release)
                : acquire(key, permits)
                        .flatMapMany(decision -> decision.allowed()
                                ? work
                                : Flux.error(new RateLimitExceededException(decision, name())));
    }

    /** {@link #reserve(String, long, Duration)} without a maximum wait. */
    default Mono<Reservation> reserve(String key, long estimate) {
        return reserve(key, estimate, Duration.ofNanos(Long.MAX_VALUE));
    }

    /**
     * Takes an estimate of what work will cost. {@link Reservation#settle} replaces it by the real cost. It
     * waits and is denied as {@link #acquire(String, long, Duration)}; a denial is a {@link
     * RateLimitExceededException}. A subscriber that cancels before it gets the reservation spends nothing.
     * After that the estimate is spent until the reservation is settled.
     *
     * <pre>{@code
     * limiter.reserve("tenant", 500, Duration.ofSeconds(1))
     *         .flatMap(reserved -> complete(prompt).flatMap(answer -> reserved.settle(answer.tokens()).thenReturn(answer)));
     * }</pre>
     *
     * @param estimate at least 1, at most the policy's capacity
     * @throws IllegalStateException if the policy {@linkplain RateLimitPolicy#settles() cannot be settled};
     *     with a policy per key it is signalled
     */
    default Mono<Reservation> reserve(String key, long estimate, Duration maxWait) {
        throw new UnsupportedOperationException("this limiter makes no reservations");
    }

    /** The policy of keys that have none of their own. */
    RateLimitPolicy policy();

    /**
     * Replaces the policy of all keys that have none of their own, while they are in use.
     *
     * <pre>{@code
     * limiter.changePolicy(TokenBucket.perSecond(50)).subscribe();
     * }</pre>
     *
     * <p>Usage so far is kept, capped at the new capacity: no key gets a burst above the new limit. It
     * recovers at the new rate from the change on. Waiters are rescheduled: they leave earlier or later, are
     * denied if they would exceed their maximum wait, and fail with {@link PermitsExceedCapacityException} if
     * they request more than the new capacity. Permits taken before the change cannot be refunded after it,
     * and are counted as lost. A {@link ConcurrencyLimit} can only be replaced by another: calls in flight
     * keep counting until they finish, even if the new limit is lower.
     *
     * <p>A key whose policy per key equals one that was replaced follows the new one.
     */
    Mono<Void> changePolicy(RateLimitPolicy policy);

    /**
     * Asks the resolver of a {@linkplain RateLimiterBuilder#policyPerKey policy per key} for this key again,
     * now, instead of when the cached answer expires. Emits the policy that is in effect for the key from
     * then on.
     *
     * <pre>{@code
     * customers.upgrade("alice").then(limiter.refreshPolicy("alice")).subscribe();
     * }</pre>
     *
     * <p>Usage so far is kept, capped at the new capacity, and waiters are rescheduled, as with a change for
     * all keys. If the resolver fails, so does this, and the cached policy stays. On Redis the other
     * instances follow when their own cached policy expires.
     *
     * @throws IllegalStateException if the limiter has no policy per key
     */
    default Mono<RateLimitPolicy> refreshPolicy(String key) {
        throw new IllegalStateException("this limiter has no policyPerKey that could be asked again");
    }

    /** The limiter's name, for errors and meters. */
    String name();

    /**
     * Ends every wait with {@link RateLimiterClosedException}, and completes when pending settlements have
     * ended. Open reservations can be settled afterwards.
     */
    Mono<Void> close();

    /** Closes without waiting for the completion. */
    @Override
    default void dispose() {
        close().subscribe();
    }

    /**
     * One request of {@link #acquireAll}.
     *
     * @param limiter the limiter
     * @param key the key
     * @param permits how many permits
     */
    record PermitRequest(RateLimiter limiter, String key, long permits) {}

    /** A request for one permit, for {@link #acquireAll}; {@link PermitRequest} for more. */
    static PermitRequest permits(RateLimiter limiter, String key) {
        return new PermitRequest(limiter, key, 1);
    }

    /**
     * Requests permits of several limiters, all or nothing, in the given order, and never waits.
     *
     * <pre>{@code
     * RateLimiter.acquireAll(List.of(permits(perIp, ip), permits(perUser, user), permits(global, "*")))
     * }</pre>
     *
     * <p>Put the limiter that is most likely to deny first. Limiters in one Redis whose keys share a hash
     * slot decide in one atomic step, and a denial costs nothing. Elsewhere a denial refunds what was taken
     * before it; until then other requests may be denied too early, but none is allowed wrongly. Cancelling
     * refunds everything.
     */
    static Mono<JointDecision> acquireAll(List<PermitRequest> requests) {
        return new MonoAcquireAll(requests);
    }
}
