package io.github.reactorratelimit.local;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Projection;
import io.github.reactorratelimit.algorithm.Reading;
import io.github.reactorratelimit.algorithm.Spending;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The keys of one policy in this process; every method is one atomic step on one key and never blocks.
 * At most {@code maxKeys} keys have a state of their own; the others share {@linkplain OverflowCells
 * overflow cells} and are limited more strictly, never less: {@link BoundedKeyTable} says how. Where the
 * state of a rate fits into one long, {@link LongKeyTable} keeps it in an array instead of an object.
 *
 * <p>Times are readings of one clock that does not go backward, but may arrive out of order. A debit
 * of a key that the table forgot counts as made at the time of forgetting if {@code at} is earlier.
 */
abstract class KeyTable implements CarriedSpend.Source {

    /**
     * Takes permits as of {@code at}: 0 if taken, else the ticks to wait; the state is untouched then.
     * Allocates nothing for keys in the table where the state is a long.
     */
    abstract long tryDebit(String key, long at, long permits);

    /** Whether {@link #tryDebit} took the permits, for those who need not know how long to wait. */
    boolean tryTake(String key, long at, long permits) {
        return tryDebit(key, at, permits) == 0;
    }

    /** Like {@link #tryDebit}: null if taken, else the denial. */
    @Nullable
    Decision takeOrDeny(String key, long at, long permits) {
        if (tryDebit(key, at, permits) == 0) {
            return null;
        }
        Reading reading = debit(key, at, permits);
        return reading.allowed() ? null : denial(reading, permits);
    }

    static Decision denial(Reading reading, long permits) {
        return Decision.deny(
                reading.policy(),
                permits,
                reading.limit(),
                reading.remaining(),
                reading.resetTicks(),
                reading.waitTicks());
    }

    static Decision allowed(Reading reading, Debit debit) {
        return Decision.allow(
                reading.policy(),
                reading.limit(),
                reading.remaining(),
                reading.resetTicks(),
                reading.moreTicks(),
                debit);
    }

    static Decision.Quota quota(Reading reading) {
        return new Decision.Quota(reading.limit(), reading.remaining(), reading.resetTicks(), reading.moreTicks());
    }

    /**
     * Like {@link #tryDebit}, with what the decision reports: {@link Reading#allowed()} tells whether
     * permits were taken.
     */
    abstract Reading debit(String key, long at, long permits);

    /** {@link #debit(String, long, long)} as a decision, whose debit belongs to {@code owner}. */
    Decision debit(Object owner, RateLimitPolicy policy, String key, long at, long permits) {
        Reading reading = debit(key, at, permits);
        return reading.allowed()
                ? allowed(reading, new Debit(owner, key, policy, permits, at))
                : denial(reading, permits);
    }

    /** Gives back a debit that this table made; false if it is lost. See {@link #refund(String, LongSupplier, long, long)}. */
    boolean refund(Debit debit, LongSupplier clock) {
        refund(debit.key(), clock, debit.atTick(), debit.permits());
        return true;
    }

    /** Looks without taking; a key that is not in the table does not enter it. */
    abstract Reading read(String key, long now, long permits);

    /** The ticks to wait as of {@code at}, without taking; a key that is not in the table does not enter it. */
    abstract long waitTicks(String key, long at, long permits);

    /**
     * Gives back permits that were debited at {@code debitedAt}, each debit at most once.
     *
     * <p>Permits of a rate go to the key's own state only. They are lost to the strict side if the key has
     * none: what a forgotten key spent is refilled anyway, and what was taken from an overflow cell comes
     * back with time. So are permits that were debited before the key was {@linkplain #reset reset}.
     *
     * <p>Permits of a concurrency limit are always given back, and to where they were taken from.
     *
     * @param clock read after the state, so that no debit in it is later: as of an older time more would
     *     come back than the debit still counts for
     */
    abstract void refund(String key, LongSupplier clock, long debitedAt, long permits);

    /**
     * Takes as many of the permits as are there: what was spent under another policy. Of no effect on a
     * concurrency limit: nobody would give those permits back.
     */
    void charge(String key, long now, long permits) {
        overdraw(key, now, permits, 0);
    }

    /**
     * Takes the permits whether they are there or not, so that at most {@code maxDebt} are overdrawn; of several parts
     * of a policy each takes as many as it can. Of no effect on a concurrency limit.
     *
     * @return how many were not taken, of the part that took fewest
     */
    abstract long overdraw(String key, long now, long permits, long maxDebt);

    /**
     * Spends everything the key has left, in one atomic step: who still asks for it here is denied.
     *
     * @return what it had spent before
     */
    abstract List<Spending> spendAll(String key, long now);

    /**
     * Forgets what the key spent. A key that shares an overflow cell gets a state of its own, if there is
     * room; if not, nothing happens, because the others that share the cell must not gain. Of no effect on
     * a concurrency limit: its permits are not spent but in use, and come back by refund.
     *
     * @param clock debits up to its reading when the state is gone are not refundable any more
     */
    abstract void reset(String key, LongSupplier clock);

    /** What lies ahead of the key; a key that is not in the table does not enter it. */
    abstract Projection<?> projection(String key, long now);

    /** Keys in the table, overflow cells apart; never more than the bound. */
    abstract int size();

    /** Lets the states that there are count under another policy; false if they mean something else there. */
    boolean changeTo(RateLimitPolicy policy) {
        return false;
    }

    @Override
    public abstract List<Spending> spent(String key, long at);

    /** Whether another table may take over when the policy changes for all keys. */
    boolean mayBeReplaced() {
        return true;
    }

    /** What keys that enter start with; null if they start fresh. */
    @Nullable
    CarriedSpend carried() {
        return null;
    }

    @Override
    public Iterator<String> keys() {
        return Collections.emptyIterator();
    }

    @Override
    public boolean knowsAllKeys() {
        return false;
    }

    /** Lets a key enter before it is requested; false if there is no room. */
    boolean adopt(String key, long now) {
        return false;
    }

    /** All keys that spent anything under the policy before have entered: a new key starts fresh. */
    void carriedOver(CarriedSpend done) {}

    /**
     * Another table takes over. Nothing is evicted here any more, because the spend counts there as of the change, though
     * it would have recovered here. A key that has not entered this table from the one before counts as fully spent.
     */
    void freeze(long now) {}
}
