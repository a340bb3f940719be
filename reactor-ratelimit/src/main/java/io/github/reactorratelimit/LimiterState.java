package io.github.reactorratelimit;

import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * The keys of one limiter in a store: what a store implements. The limiter checks arguments and normalises
 * keys before it calls this. Permits lie between 1 and the policy's capacity.
 *
 * <p>An {@code override} is the policy that a key has instead of the limiter's; null for the limiter's policy
 * in effect.
 *
 * <p>No method blocks. A Mono does nothing before subscription and requests again on each one. After {@link
 * #close()} every Mono signals {@link RateLimiterClosedException}, but for {@link #refund} and {@link
 * #charge}, which still settle what is open, and {@code close} itself.
 */
public interface LimiterState {

    /** A wait without limit, as {@code maxWaitNanos}. */
    long UNBOUNDED = Long.MAX_VALUE;

    /** What becomes of the permits of {@link #decideNow}. */
    enum RequestMode {
        /** They are spent for good: the decision carries no debit. */
        SPEND,
        /** They are spent for good. A caller that is not allowed will wait, so it needs no denial. */
        SPEND_OR_WAIT,
        /** They can come back: the decision carries a {@link Debit}. */
        DEBIT
    }

    /**
     * One request of {@link #evaluateTogether}.
     *
     * @param state the state that the key belongs to
     * @param key the key
     * @param override the policy that the key has instead of the limiter's; null if none
     * @param permits how many, between 1 and the policy's capacity
     */
    record KeyRequest(
            LimiterState state, String key, @Nullable RateLimitPolicy override, long permits) {}

    /**
     * A key in at most 128 bytes of UTF-8: itself, or a digest that no other key has. For stores that send or
     * keep the name of a key; those get keys of up to 1 024 characters.
     */
    static String shortName(String key) {
        return Keys.shortened(key, 128);
    }

    /**
     * The fast path: decides on the caller's thread if that needs no round trip. Never overtakes waiters.
     *
     * @return null if it cannot be decided here, or the state is closed: then nothing was taken, and {@link
     *     #evaluate} or {@link #await} decides. Of spent permits it may be {@link Decision#spent}, so that
     *     nothing is allocated.
     */
    default @Nullable Decision decideNow(
            String key, @Nullable RateLimitPolicy override, long permits, RequestMode mode) {
        return null;
    }

    /** Whether {@link #decideNow} decides whatever {@link #evaluate} does: the state is in memory. */
    default boolean decidesNow() {
        return false;
    }

    /**
     * Takes the permits or leaves the state untouched, in one atomic step. Never waits, never overtakes
     * waiters.
     */
    Mono<Decision> evaluate(String key, @Nullable RateLimitPolicy override, long permits);

    /**
     * {@link #evaluate} of several states, all or nothing, in one atomic step. Emits the decisions in order,
     * up to the first denial; then nothing was taken, and the debits before it are {@linkplain Debit#claim()
     * claimed}. Cancelling before the decisions are delivered refunds them.
     *
     * @return empty if these cannot be decided together; then evaluate one after the other
     */
    default Mono<List<Decision>> evaluateTogether(List<KeyRequest> requests) {
        return Mono.empty();
    }

    /**
     * Waits in the key's queue for the permits. The request is denied immediately, at no cost, if the queue
     * is full or the wait would exceed {@code maxWaitNanos} ({@link #UNBOUNDED} for no limit), and later if
     * the wait becomes too long. A granted waiter is signalled on the {@linkplain LimiterSettings#callbacks()
     * scheduler for callbacks}, not on the thread that grants. Cancelling leaves the queue and refunds what
     * was granted but not yet delivered.
     */
    Mono<Decision> await(String key, @Nullable RateLimitPolicy override, long permits, long maxWaitNanos);

    /** What {@link #evaluate} would decide; takes nothing. */
    Mono<Decision> peek(String key, @Nullable RateLimitPolicy override, long permits);

    /** Clears the key's usage and ends its pause; waiters are rescheduled. */
    Mono<Void> reset(String key, @Nullable RateLimitPolicy override);

    /** Whether this state made the debit. */
    default boolean owns(Debit debit) {
        return debit.owner() == this;
    }

    /**
     * Gives a debit back as far as its effect is still there; the caller has {@linkplain Debit#claim()
     * claimed} it.
     */
    Mono<Void> refund(Debit debit);

    /**
     * {@link #refund} on the caller's thread, if that needs no round trip.
     *
     * @return false if it cannot be done here: then {@link #refund} must
     */
    default boolean refundNow(Debit debit) {
        return false;
    }

    /**
     * Takes permits that were spent already, whether the key has them or not, in one atomic step. The key
     * owes at most {@code maxDebt} afterwards; each part of a composite policy is charged as far as that
     * goes. Waiters of this process are rescheduled; reserved slots stay. Works after {@link #close()} too.
     *
     * @param permits at least 1; may be more than the policy's capacity
     * @return how many could not be charged; an error if the store did not answer
     */
    default Mono<Long> charge(String key, @Nullable RateLimitPolicy override, long permits, long maxDebt) {
        return Mono.error(new UnsupportedOperationException("this store cannot charge what was spent without asking"));
    }

    /**
     * Denies every request of the key for {@code duration} from now; zero ends a pause. Waiters are
     * rescheduled.
     *
     * @param extendOnly whether a longer pause stays, and zero does nothing; decided in one atomic step
     */
    Mono<Void> pause(String key, @Nullable RateLimitPolicy override, Duration duration, boolean extendOnly);

    /**
     * Moves the key's usage from one policy to another, capped at the new capacity: no burst above the new
     * limit. Null is the limiter's policy in effect.
     */
    Mono<Void> migrate(String key, @Nullable RateLimitPolicy from, @Nullable RateLimitPolicy to);

    /**
     * Replaces the policy of all keys that have no override. Usage so far is kept, capped at the new
     * capacity, and recovers at the new rate from now on; waiters are rescheduled, those that request more
     * than the new capacity fail.
     */
    default Mono<Void> changePolicy(RateLimitPolicy to) {
        return Mono.error(new UnsupportedOperationException("this store cannot change a policy while it is in use"));
    }

    /**
     * Sets the listener that is called first, with the new policy, each time the limiter's policy {@linkplain
     * #changePolicy changes}.
     */
    default void onPolicyChange(Consumer<RateLimitPolicy> listener) {}

    /** Ends every wait with an error, then completes; any number of calls close once. */
    Mono<Void> close();

    /** Whether it was closed, or had to close itself because its scheduler was disposed. */
    boolean isClosed();
}
