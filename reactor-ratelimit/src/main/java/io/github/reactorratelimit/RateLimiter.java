package io.github.reactorratelimit;

import java.time.Duration;
import java.util.List;
import org.reactivestreams.Publisher;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * A policy and the state of its keys: answers for a key and a number of permits. Share one limiter
 * between all streams and calls that shall count together.
 *
 * <pre>{@code
 * RateLimiter limiter = RateLimiter.of(TokenBucket.perSecond(10));
 * limiter.tryAcquire("alice")                            // never waits
 * limiter.acquire("alice", 3, Duration.ofMillis(200))    // waits for its turn, at most 200 ms
 * }</pre>
 *
 * <p>Nothing happens before subscription, and each subscription asks again. Bad arguments are refused
 * at once: a key that is null, empty or longer than 64 KiB, and permits below 1, when the method is
 * called; permits above the policy's capacity with {@link PermitsExceedCapacityException}.
 *
 * <p>Time comes from the limiter's scheduler, resolved when it is built: build it inside {@code
 * StepVerifier.withVirtualTime} to test it in virtual time.
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

    /** Asks for one permit and never waits. */
    default Mono<Decision> tryAcquire(String key) {
        return tryAcquire(key, 1);
    }

    /**
     * Asks for permits and never waits. Denied while others wait for the key: it does not overtake them,
     * and its retry-after includes them.
     */
    Mono<Decision> tryAcquire(String key, long permits);

    /**
     * Takes the permits if that can be told and done at once, in memory. {@code false} means denied, or
     * not known without asking the store; then {@link #tryAcquire} or {@link #acquire} tell. Allocates
     * nothing where the policy and store allow it; the operators' fast path.
     */
    boolean tryAcquireNow(String key, long permits);

    /**
     * {@link #tryAcquire} where the answer can be told at once, in memory: allocates nothing if the permits
     * were taken. What was taken this way cannot be refunded. The operators' way when nobody waits.
     */
    default Verdict decideNow(String key, long permits) {
        return tryAcquireNow(key, permits) ? Verdict.TAKEN : Verdict.UNKNOWN;
    }

    /**
     * Permits for the elements that a stream delivers one right after the other, {@code permits} for each;
     * several of them may be taken in one step. The operators' way when a source can be polled.
     */
    default PermitRun run(String key, long permits) {
        return PermitRun.oneByOne(() -> tryAcquireNow(key, permits));
    }

    /** Waits in line for one permit, however long it takes. */
    default Mono<Decision> acquire(String key) {
        return acquire(key, 1);
    }

    /** Waits in line for permits, however long it takes. */
    default Mono<Decision> acquire(String key, long permits) {
        return acquire(key, permits, Duration.ofNanos(Long.MAX_VALUE));
    }

    /**
     * Waits in line for permits. Denied at once, at no cost, if the line is full or the wait is known to
     * exceed {@code maxWait} or the {@linkplain RateLimitContext#deadline deadline} in the Reactor Context;
     * denied later if a pause makes it too long. Cancelling leaves the line, and those behind move up.
     *
     * @param maxWait zero never waits
     */
    Mono<Decision> acquire(String key, long permits, Duration maxWait);

    /** What {@link #tryAcquire} would answer for one permit, without taking it. */
    default Mono<Decision> peek(String key) {
        return peek(key, 1);
    }

    /** What {@link #tryAcquire} would answer, without taking anything. */
    Mono<Decision> peek(String key, long permits);

    /** Forgets what the key spent. */
    Mono<Void> reset(String key);

    /**
     * Gives back what an allowed decision took, once. Never lifts the key above what it would have had
     * the debit not happened; a denied or peeked decision gives nothing back.
     *
     * @throws IllegalArgumentException if another limiter made the decision
     */
    Mono<Void> refund(Decision decision);

    /** Denies the key everything for {@code duration} from now; zero ends a pause. Waiters are re-timed. */
    Mono<Void> pause(String key, Duration duration);

    /**
     * {@link #pause} that never ends a pause earlier: one that lasts longer stays as it is. For those who pass on what others say about
     * the key, of which the last word need not be the strongest.
     */
    Mono<Void> pauseAtLeast(String key, Duration duration);

    /**
     * The key that a pause of {@code key} is really for: another one where several keys have one limit, as the tenants of a {@code FairShare} do. For those
     * who add up what they are told about keys.
     */
    default String sharedKey(String key) {
        return key;
    }

    /**
     * Takes permits of a {@link ConcurrencyLimit} until the lease is released. Signals {@link
     * RateLimitExceededException} if denied. A subscriber that cancels before the lease is delivered to it
     * holds nothing. Once delivered it must be released by whoever has it: an operator in between that drops
     * it, such as {@code acquireLease(…).timeout(…)} at the last moment, loses it. {@link #use}, or {@code
     * Flux.usingWhen(acquireLease(…), work, Lease::release)}, releases in every case; {@code maxWait} bounds
     * the wait without a {@code timeout}.
     */
    Mono<Lease> acquireLease(String key, long permits, Duration maxWait);

    /**
     * Runs {@code work} with permits: waits for them, subscribes to {@code work}, and with a {@link
     * ConcurrencyLimit} gives them back when it completes, fails or is cancelled.
     */
    <T> Flux<T> use(String key, long permits, Publisher<T> work);

    /** Reserves permits, waiting in line for them however long it takes; see {@link #reserve(String, long, Duration)}. */
    default Mono<Reservation> reserve(String key, long estimate) {
        return reserve(key, estimate, Duration.ofNanos(Long.MAX_VALUE));
    }

    /**
     * Takes an estimate of what work will cost, to be {@linkplain Reservation#settle settled} by what it really cost.
     * Waits and is denied as {@link #acquire(String, long, Duration)}; a denial is a {@link RateLimitExceededException}. A
     * subscriber that cancels before the reservation is delivered to it spends nothing. Once delivered it is spent as
     * estimated until it is settled, and for good if it never is.
     *
     * @param estimate at least 1, at most the policy's capacity
     * @throws IllegalStateException if the policy {@linkplain RateLimitPolicy#settles() cannot be settled}; signalled, where a key
     *     has a policy of its own
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
     * <p>What a key spent is kept, capped at the new capacity: nobody gets a burst above the new limit. It
     * recovers at the new rate from the change on. Who waits is timed anew: leaves earlier or later, is denied if that is now
     * longer than it would wait, and fails with {@link PermitsExceedCapacityException} if it asks for more than the new
     * capacity. What was taken before the change cannot be refunded after it, and is counted as lost. A {@link
     * ConcurrencyLimit} can only be replaced by another: what is in flight stays counted, also above a lower limit.
     *
     * <p>A key whose policy per key equals one that was replaced follows the new one.
     */
    Mono<Void> changePolicy(RateLimitPolicy policy);

    /**
     * Gives one key a policy of its own while it is in use: ahead of the limiter's policy and of a {@linkplain
     * RateLimiterBuilder#policyPerKey policy per key}, until {@link #restorePolicy} or another change for this key. A {@linkplain
     * #changePolicy(RateLimitPolicy) change for all} leaves it alone.
     *
     * <pre>{@code
     * limiter.changePolicy("alice", TokenBucket.perSecond(500)).subscribe();
     * }</pre>
     *
     * <p>What the key spent is kept, capped at the new capacity, and who waits for it is timed anew, as with a change for all. At
     * most 1 000 keys can have one, beyond which this is an {@link IllegalStateException}: for more use a policy per key. On
     * Redis it counts in every process that shares the limiter, and completes when the key knows of it; others whose turn was
     * promised hear of it by a signal. In a sketch it is an {@link UnsupportedOperationException}.
     *
     * @throws IllegalArgumentException if this policy or the limiter's is a {@link ConcurrencyLimit}, which cannot differ by key
     */
    default Mono<Void> changePolicy(String key, RateLimitPolicy policy) {
        throw new UnsupportedOperationException("this limiter cannot give one key another policy");
    }

    /**
     * Takes back the policy that {@link #changePolicy(String, RateLimitPolicy)} gave a key: the limiter's policy, or its policy per key,
     * counts again. What it spent is kept, and who waits is timed anew. Nothing happens if it was given none.
     */
    default Mono<Void> restorePolicy(String key) {
        throw new UnsupportedOperationException("this limiter cannot give one key another policy");
    }

    /** The limiter's name, for errors and meters. */
    String name();

    /**
     * Ends every wait with {@link RateLimiterClosedException}, and completes when what is being settled has been. Reservations
     * that are still open can be settled afterwards.
     */
    Mono<Void> close();

    /** Closes without waiting for the end. */
    @Override
    default void dispose() {
        close().subscribe();
    }

    /**
     * One request of {@link #acquireAll}.
     *
     * @param limiter whom to ask
     * @param key whose permits
     * @param permits how many
     */
    record Ask(RateLimiter limiter, String key, long permits) {}

    /** One permit of {@code limiter} for {@code key}. */
    static Ask ask(RateLimiter limiter, String key) {
        return new Ask(limiter, key, 1);
    }

    /**
     * Asks several limiters, all or nothing, in the order given, and never waits: put the one most likely
     * to deny first. Limiters in one Redis whose keys share a slot are asked in one atomic step, and a denial
     * costs nothing. Elsewhere what was taken before a denial is given back; until then others may be denied
     * too early, never allowed wrongly. Cancelling midway gives everything back.
     */
    static Mono<JointDecision> acquireAll(List<Ask> asks) {
        return JointAcquire.of(asks);
    }
}
