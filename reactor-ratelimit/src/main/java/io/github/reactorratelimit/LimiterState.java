package io.github.reactorratelimit;

import java.time.Duration;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * The keys of one limiter in a store: what a store implements. Arguments are checked and keys
 * normalised by the caller, the limiter; permits lie between 1 and the policy's capacity.
 *
 * <p>Every method is non-blocking, does nothing before subscription, and asks anew on each one.
 * After {@link #close()} every Mono signals {@link RateLimiterClosedException}, but for {@link #refund} and {@link #charge},
 * which still settle what is open, and {@code close} itself; {@link #tryAcquireNow} returns false.
 */
public interface LimiterState {

    /** A wait without limit, as {@code maxWaitNanos}. */
    long UNBOUNDED = Long.MAX_VALUE;

    /**
     * Takes the permits if that can be told and done at once, without waiting, allocating or a round
     * trip. {@code false} means denied or not known here: ask {@link #evaluate} or {@link #await}.
     * Never overtakes waiters.
     */
    boolean tryAcquireNow(String key, RateLimitPolicy policy, long permits);

    /**
     * {@link #evaluate} where the answer can be told at once, without waiting or a round trip; {@link
     * Verdict#UNKNOWN} after {@link #close()}.
     */
    default Verdict decideNow(String key, RateLimitPolicy policy, long permits) {
        return tryAcquireNow(key, policy, permits) ? Verdict.TAKEN : Verdict.UNKNOWN;
    }

    /**
     * Requests for {@code permits} each that come one right after the other. A state may take several of
     * them in one step if it can give back what was not used, at once and as of the time it was taken; never
     * for a {@link LeakyBucket}, whose permits are spaced.
     */
    default PermitRun run(String key, RateLimitPolicy policy, long permits) {
        return PermitRun.oneByOne(() -> tryAcquireNow(key, policy, permits));
    }

    /** One atomic step: takes the permits or leaves the state untouched. Never waits, never overtakes waiters. */
    Mono<Decision> evaluate(String key, RateLimitPolicy policy, long permits);

    /**
     * Waits in line for the permits. Denied at once, at no cost, if the line is full or the wait is known
     * to exceed {@code maxWaitNanos} ({@link #UNBOUNDED} for no limit), and later if it becomes too long.
     * A granted waiter is signalled on the {@linkplain LimiterSettings#callbacks() scheduler for callbacks},
     * not on the thread that grants. Cancelling
     * leaves the line at once and returns what was granted but not yet delivered.
     */
    Mono<Decision> await(String key, RateLimitPolicy policy, long permits, long maxWaitNanos);

    /** What {@link #evaluate} would answer, without taking anything. */
    Mono<Decision> peek(String key, RateLimitPolicy policy, long permits);

    /** Forgets what the key spent, its pause too; waiters are re-planned. */
    Mono<Void> reset(String key, RateLimitPolicy policy);

    /** Whether this state made the debit. */
    default boolean owns(Debit debit) {
        return debit.owner() == this;
    }

    /** Gives a debit back as far as its effect is still there; the caller has {@linkplain Debit#claim() claimed} it. */
    Mono<Void> refund(Debit debit);

    /**
     * Takes permits whether they are there or not, in one atomic step: what was spent already. At most {@code maxDebt}
     * are overdrawn; of several parts of a policy each is charged as far as that goes. Waiters of this process are re-planned; slots
     * that a store has promised stay. Works after {@link #close()} too.
     *
     * @param permits at least 1; may be more than the policy's capacity
     * @return how many could not be charged; an error if the store did not answer
     */
    default Mono<Long> charge(String key, RateLimitPolicy policy, long permits, long maxDebt) {
        return Mono.error(new UnsupportedOperationException("this store cannot charge what was spent without asking"));
    }

    /** Denies the key everything for this long from now, or ends its pause if zero; waiters are re-planned. */
    Mono<Void> pause(String key, RateLimitPolicy policy, Duration duration);

    /** As {@link #pause}, in one atomic step unless the key is paused for longer: then nothing happens, and zero does nothing. */
    Mono<Void> pauseAtLeast(String key, RateLimitPolicy policy, Duration duration);

    /** Moves what the key spent from one policy to another, capped at the new capacity: no burst above the new limit. */
    Mono<Void> carry(String key, RateLimitPolicy from, RateLimitPolicy to);

    /**
     * Replaces the policy of all keys that have none of their own. What they spent is kept, capped at the new capacity, and
     * recovers at the new rate from now on; waiters are re-planned, those who ask for more than the new capacity
     * fail. From then on whoever names a policy that ruled before means this one.
     */
    default Mono<Void> changePolicy(RateLimitPolicy to) {
        return Mono.error(new UnsupportedOperationException("this store cannot change a policy while it is in use"));
    }

    /**
     * Gives a key a policy of its own, whichever it is asked for with from now on. What it spent is kept, capped at the new capacity;
     * its waiters are re-planned.
     *
     * @param named the policy it is asked for with
     * @return an error if too many keys have one
     */
    default Mono<Void> changePolicy(String key, RateLimitPolicy named, RateLimitPolicy to) {
        return Mono.error(new UnsupportedOperationException("this store cannot give one key another policy"));
    }

    /**
     * Takes back what {@link #changePolicy(String, RateLimitPolicy, RateLimitPolicy)} gave: the key has the policy again that it is
     * asked for with, and keeps what it spent. Nothing happens if it was given none.
     *
     * @param named the policy it is asked for with
     */
    default Mono<Void> restorePolicy(String key, RateLimitPolicy named) {
        return Mono.error(new UnsupportedOperationException("this store cannot give one key another policy"));
    }

    /** The policy that the key {@linkplain #changePolicy(String, RateLimitPolicy, RateLimitPolicy) was given}, null if none. */
    default @Nullable RateLimitPolicy ownPolicy(String key) {
        return null;
    }

    /** Told, before anybody else, each time another policy {@linkplain #changePolicy begins to rule}; one listener only. */
    default void whenRuledAnew(Consumer<RateLimitPolicy> listener) {}

    /** The policy that rules where {@code policy} is named: another one if that was {@linkplain #changePolicy replaced}. */
    default RateLimitPolicy ruling(RateLimitPolicy policy) {
        return policy;
    }

    /** Whether others than this state take permits of the same keys, or may. */
    default boolean isShared() {
        return false;
    }

    /** Ends every wait with an error, then completes; any number of calls close once. */
    Mono<Void> close();

    /** Whether it was closed, or had to close itself because its scheduler was disposed. */
    boolean isClosed();
}
