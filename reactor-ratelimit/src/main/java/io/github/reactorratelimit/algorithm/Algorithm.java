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
 * <p>Times are ticks of any origin, also negative; they may go backward: then nothing is refilled that
 * was not there, and {@link #rebase} bounds the lock-out.
 * Rounding is always to the strict side. Permits lie between 1 and {@link #capacity()}.
 *
 * @param <S> the state of one key, immutable
 */
public interface Algorithm<S> {

    /** The wait that no time ends: a concurrency limit's permits come back by refund. */
    long UNKNOWN = Long.MAX_VALUE;

    /** The policy whose steps these are. */
    RateLimitPolicy policy();

    /** The most permits one request may ask for. */
    default long capacity() {
        return policy().capacity();
    }

    /**
     * The same steps for a state that several keys share, and for a key that starts from such a state: they allow a key
     * nothing that its own steps deny, whatever the others do.
     */
    default Algorithm<S> shared() {
        return this;
    }

    /** What {@link #remaining} is when nothing is spent. */
    long limit();

    /** The state of a key that was never seen, or was forgotten. */
    S fresh();

    /** 0 if {@code permits} are there at {@code now}; else the ticks until they are, if nobody else asks: one tick earlier they are not. */
    long waitTicks(S state, long now, long permits);

    /** The state after taking permits; only where {@link #waitTicks} is 0, or they are {@link #chargeable}. */
    S debit(S state, long now, long permits);

    /**
     * How many permits can be charged without asking, so that at most {@code maxDebt} are overdrawn: what is there and
     * what may be owed, less what is owed already. Fewer where they could not be counted exactly.
     */
    default long chargeable(S state, long now, long maxDebt) {
        return remaining(state, now);
    }

    /**
     * The state after charging the permits, or as many of them as are {@link #chargeable}: of a composite each part as many
     * as it can. What is overdrawn is a debt: {@link #remaining} is 0 and {@link #waitTicks} includes it.
     */
    default S charge(S state, long now, long permits, long maxDebt) {
        long charged = Math.min(permits, chargeable(state, now, maxDebt));
        return charged == 0 ? state : debit(state, now, charged);
    }

    /**
     * Whether requests that are granted one after the other, each as early as possible, leave the same state however their
     * permits are divided among them, as long as the key owes something all the time.
     *
     * @param most no request needs more permits than this
     */
    default boolean isAdditive(long most) {
        return false;
    }

    /** The most permits for which {@link #waitTicks} is 0, 0 if there are none. */
    long remaining(S state, long now);

    /**
     * Ticks until nothing is spent any more. At 0 the state may be forgotten: {@link #fresh()} answers
     * the same now and ever after.
     */
    long resetTicks(S state, long now);

    /**
     * The state after giving back {@code permits} that were debited at {@code debitedAt}; never above what
     * it would be had the debit not happened. Where debits set the phase (stepwise refill, windows from the
     * first request) permits then come back no earlier than without the debit, unless some have come back since.
     */
    S refund(S state, long now, long debitedAt, long permits);

    /**
     * The state as a clock that may go backward finds it: what lies further ahead of {@code now} than this
     * policy can have caused is brought back to where it locks out no longer than the policy takes to
     * recover, windows twice that; {@code state} itself if there is nothing to do.
     *
     * <p>The other steps never take an early time for a reason to forget: they count it as the latest time
     * that the state has seen. So a store whose clock can go backward applies this before every step, and
     * keeps the result also when it denies. One whose clock is monotonic must not: a thread that read the
     * time and was then held up would look like a clock that went back.
     */
    default S rebase(S state, long now) {
        return state;
    }

    /**
     * What is spent at {@code now} under this policy, or under each part of it, debts included. A policy that cannot be
     * settled lets all or nothing pass: what remains does not say how much is spent.
     */
    default List<Spending> spent(S state, long now) {
        long anyDebt = Long.MAX_VALUE / 4;
        long withDebts = chargeable(fresh(), now, anyDebt) - chargeable(state, now, anyDebt);
        long gone = policy().settles() ? limit() - remaining(state, now) : 0;
        return List.of(new Spending(policy(), Math.max(withDebts, gone)));
    }

    /** The state with what was spent under another policy at {@code at}, capped at what is there. */
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
     * What a decision reports: for a denial read with the permits that were asked for, after a debit with
     * 0. A composite reads the part with the longest wait or, if none waits, the one with least remaining; its reset is
     * that of all parts.
     */
    default Reading read(S state, long now, long permits) {
        long wait = permits == 0 ? 0 : waitTicks(state, now, permits);
        long remaining = remaining(state, now);
        long more = wait == 0 ? moreTicks(state, now, remaining) : UNKNOWN;
        return new Reading(policy(), limit(), remaining, wait, resetTicks(state, now), more);
    }

    /** Ticks until more than {@code remaining} permits are there, which are there now; {@link #UNKNOWN} if there never are. */
    default long moreTicks(S state, long now, long remaining) {
        return remaining < limit() ? waitTicks(state, now, remaining + 1) : UNKNOWN;
    }
}
