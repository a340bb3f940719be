package io.github.reactorratelimit;

import java.time.Duration;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * The keys of one limiter in a store: what a store implements. Arguments are checked and keys
 * normalised by the caller, the limiter; permits lie between 1 and the policy's capacity.
 *
 * <p>An {@code override} is the policy that a key has instead of the limiter's; null for the limiter's policy in effect.
 *
 * <p>Every method is non-blocking, does nothing before subscription, and asks anew on each one.
 * After {@link #close()} every Mono signals {@link RateLimiterClosedException}, but for {@link #refund} and {@link #charge},
 * which still settle what is open, and {@code close} itself; {@link #tryAcquireNow} returns false.
 */
public interface LimiterState {

    /** A wait without limit, as {@code maxWaitNanos}. */
    long UNBOUNDED = Long.MAX_VALUE;

    /**
     * A key in at most 128 bytes of UTF-8: itself, or a digest that no other key has. For stores that send or keep the name of
     * a key; those get keys of up to 1 024 characters.
     */
    static String shortName(String key) {
        return Keys.shortened(key, 128);
    }

    /**
     * Takes the permits if that can be told and done at once, without waiting, allocating or a round
     * trip. {@code false} means denied or not known here: ask {@link #evaluate} or {@link #await}.
     * Never overtakes waiters.
     */
    boolean tryAcquireNow(String key, @Nullable RateLimitPolicy override, long permits);

    /**
     * {@link #evaluate} where the answer can be told at once, without waiting or a round trip; {@link
     * Verdict#UNKNOWN} after {@link #close()}.
     */
    default Verdict decideNow(String key, @Nullable RateLimitPolicy override, long permits) {
        return tryAcquireNow(key, override, permits) ? Verdict.TAKEN : Verdict.UNKNOWN;
    }

    /** One atomic step: takes the permits or leaves the state untouched. Never waits, never overtakes waiters. */
    Mono<Decision> evaluate(String key, @Nullable RateLimitPolicy override, long permits);

    /**
     * Waits in line for the permits. Denied at once, at no cost, if the line is full or the wait is known
     * to exceed {@code maxWaitNanos} ({@link #UNBOUNDED} for no limit), and later if it becomes too long.
     * A granted waiter is signalled on the {@linkplain LimiterSettings#callbacks() scheduler for callbacks},
     * not on the thread that grants. Cancelling
     * leaves the line at once and returns what was granted but not yet delivered.
     */
    Mono<Decision> await(String key, @Nullable RateLimitPolicy override, long permits, long maxWaitNanos);

    /** What {@link #evaluate} would answer, without taking anything. */
    Mono<Decision> peek(String key, @Nullable RateLimitPolicy override, long permits);

    /** Forgets what the key spent, its pause too; waiters are re-planned. */
    Mono<Void> reset(String key, @Nullable RateLimitPolicy override);

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
    default Mono<Long> charge(String key, @Nullable RateLimitPolicy override, long permits, long maxDebt) {
        return Mono.error(new UnsupportedOperationException("this store cannot charge what was spent without asking"));
    }

    /** Denies the key everything for this long from now, or ends its pause if zero; waiters are re-planned. */
    Mono<Void> pause(String key, @Nullable RateLimitPolicy override, Duration duration);

    /** As {@link #pause}, in one atomic step unless the key is paused for longer: then nothing happens, and zero does nothing. */
    Mono<Void> pauseAtLeast(String key, @Nullable RateLimitPolicy override, Duration duration);

    /**
     * Moves what the key spent from one policy to another, capped at the new capacity: no burst above the new limit. Null is
     * the limiter's policy in effect.
     */
    Mono<Void> migrate(String key, @Nullable RateLimitPolicy from, @Nullable RateLimitPolicy to);

    /**
     * Replaces the policy of all keys that have no override. Usage so far is kept, capped at the new capacity, and
     * recovers at the new rate from now on; waiters are rescheduled, those that request more than the new capacity
     * fail.
     */
    default Mono<Void> changePolicy(RateLimitPolicy to) {
        return Mono.error(new UnsupportedOperationException("this store cannot change a policy while it is in use"));
    }

    /** Sets the listener that is called first, with the new policy, each time the limiter's policy {@linkplain #changePolicy changes}. */
    default void onPolicyChange(Consumer<RateLimitPolicy> listener) {}

    /** Whether others than this state take permits of the same keys, or may. */
    default boolean isShared() {
        return false;
    }

    /** Ends every wait with an error, then completes; any number of calls close once. */
    Mono<Void> close();

    /** Whether it was closed, or had to close itself because its scheduler was disposed. */
    boolean isClosed();
}
