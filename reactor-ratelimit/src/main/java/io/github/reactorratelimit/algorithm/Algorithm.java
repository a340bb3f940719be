package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.RateLimitPolicy;
import java.util.List;

/**
 * A policy as pure steps over an immutable state. The decision for {@code permits} at {@code now} is:
 *
 * <pre>
 *   wait = waitTicks(state, now, permits)
 *   wait == 0: allowed; next = debit(state, now, permits), remaining(next, now), resetTicks(next, now)
 *   wait &gt; 0:  denied; the state stays; retry after exactly wait ticks
 * </pre>
 *
 * <p>Times are ticks of any origin, also negative. A time before the latest one that a state has seen counts
 * as that: nothing is refilled by it. Rounding is always to the strict side. Permits lie between 1 and {@link
 * #capacity()}.
 *
 * @param <S> the state of one key, immutable
 */
public interface Algorithm<S> {

    /** A wait that no time ends: permits of a concurrency limit come back only by a refund. */
    long UNKNOWN = Long.MAX_VALUE;

    /** The policy of these steps. */
    RateLimitPolicy policy();

    /** The {@link #remaining} permits of a key that has recovered, and the most that one request may need. */
    default long capacity() {
        return policy().capacity();
    }

    /**
     * The same steps for a state that several keys share, and for a key that starts from such a state. They
     * allow a key nothing that the steps for one key would deny, whatever the other keys do.
     */
    default Algorithm<S> shared() {
        return this;
    }

    /**
     * The same steps over smaller states: a {@link LongAlgorithm} if the state fits into one long. Its states
     * are distinguished by the difference of times, so it is only for a clock that does not go back by years.
     */
    default Algorithm<?> compact() {
        return this;
    }

    /** The state of a key that is new, or was evicted. */
    S fresh();

    /**
     * 0 if {@code permits} are available at {@code now}; else the exact ticks until they are, without other
     * requests.
     */
    long waitTicks(S state, long now, long permits);

    /** The state after a debit; only if {@link #waitTicks} is 0, or the permits are {@link #chargeable}. */
    S debit(S state, long now, long permits);

    /**
     * The permits that can be charged whether they are available or not, so that at most {@code maxDebt} are
     * overdrawn. Fewer if they could not be counted exactly.
     */
    default long chargeable(S state, long now, long maxDebt) {
        return remaining(state, now);
    }

    /**
     * The state after charging the permits, or as many of them as are {@link #chargeable}; each part of a
     * composite charges as many as it can. Overdrawn permits are a debt: {@link #remaining} is 0 and {@link
     * #waitTicks} includes it.
     */
    default S charge(S state, long now, long permits, long maxDebt) {
        long charged = Math.min(permits, chargeable(state, now, maxDebt));
        return charged == 0 ? state : debit(state, now, charged);
    }

    /**
     * Whether requests that are granted one after the other, each as early as possible, leave the same state
     * however their permits are divided among them, as long as the key owes something all the time.
     *
     * @param most no request needs more permits than this
     */
    default boolean isAdditive(long most) {
        return false;
    }

    /** The most permits for which {@link #waitTicks} is 0; 0 if there are none. */
    long remaining(S state, long now);

    /**
     * Ticks until the key has recovered. At 0 the state may be evicted: {@link #fresh()} gives the same
     * decisions from then on.
     */
    long resetTicks(S state, long now);

    /**
     * The state after a refund of {@code permits} that were debited at {@code debitedAt}; never above the
     * state without that debit. Where debits set the phase (stepwise refill, windows from the first request)
     * permits then come back no earlier than without the debit, unless some have come back since.
     */
    S refund(S state, long now, long debitedAt, long permits);

    /**
     * The permits spent at {@code now} under this policy, or under each part of it, with debts. A policy that
     * cannot be settled allows all or nothing: its remaining permits do not say how many are spent.
     */
    default List<Spending> spent(S state, long now) {
        long anyDebt = Long.MAX_VALUE / 4;
        long withDebts = chargeable(fresh(), now, anyDebt) - chargeable(state, now, anyDebt);
        long gone = policy().settles() ? capacity() - remaining(state, now) : 0;
        return List.of(new Spending(policy(), Math.max(withDebts, gone)));
    }

    /** The state with the permits spent under another policy at {@code at}, capped at the remaining ones. */
    default S owing(S state, long at, List<Spending> spent) {
        long owed = Math.min(Spending.under(policy(), spent), remaining(state, at));
        return owed <= 0 ? state : debit(state, at, owed);
    }

    /** The state as ticks and permits, for a store that keeps it as bytes. */
    long[] toLongs(S state);

    /**
     * The state of {@link #toLongs}.
     *
     * @throws IllegalArgumentException if these are not the longs of a state of this policy
     */
    S ofLongs(long[] longs);

    /**
     * The numbers of a decision: pass the requested permits for a denial, and 0 after a debit. A composite
     * reads the part with the longest wait or, without a wait, the one with least remaining; its reset is
     * that of all parts.
     */
    default Reading read(S state, long now, long permits) {
        long wait = permits == 0 ? 0 : waitTicks(state, now, permits);
        long remaining = remaining(state, now);
        long more = wait == 0 ? moreTicks(state, now, remaining) : UNKNOWN;
        return new Reading(policy(), remaining, wait, resetTicks(state, now), more);
    }

    /**
     * Ticks until more than the current {@code remaining} permits are available; {@link #UNKNOWN} if never.
     */
    default long moreTicks(S state, long now, long remaining) {
        return remaining < capacity() ? waitTicks(state, now, remaining + 1) : UNKNOWN;
    }
}
