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
 * The keys of one policy in this process. Every method is one atomic step on one key and never blocks.
 *
 * <p>Times are readings of one clock that does not go backward, but may arrive out of order. A debit of an evicted key counts
 * as made at the time of the eviction if {@code at} is earlier.
 */
abstract class KeyTable implements CarriedSpend.Source {

    /**
     * Takes permits as of {@code at}; false if they are not available, and the state is untouched. Allocates nothing for keys
     * in the table where the state is a long.
     */
    abstract boolean tryTake(String key, long at, long permits);

    /** Like {@link #tryTake}: null if the permits were taken, else the denial. */
    @Nullable
    Decision takeOrDeny(String key, long at, long permits) {
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

    /** A debit as a decision, or its denial. */
    static Decision decision(Reading reading, Object owner, RateLimitPolicy policy, String key, long at, long permits) {
        return reading.allowed()
                ? Decision.allow(
                        reading.policy(),
                        reading.limit(),
                        reading.remaining(),
                        reading.resetTicks(),
                        reading.moreTicks(),
                        new Debit(owner, key, policy, permits, at))
                : denial(reading, permits);
    }

    static Decision.Quota quota(Reading reading) {
        return new Decision.Quota(reading.limit(), reading.remaining(), reading.resetTicks(), reading.moreTicks());
    }

    /** Like {@link #tryTake}, with what the decision reports: {@link Reading#allowed()} says whether permits were taken. */
    abstract Reading debit(String key, long at, long permits);

    /** {@link #debit(String, long, long)} as a decision, whose debit belongs to {@code owner}. */
    Decision debit(Object owner, RateLimitPolicy policy, String key, long at, long permits) {
        return decision(debit(key, at, permits), owner, policy, key, at, permits);
    }

    /** Gives back a debit of this table; false if it is lost. See {@link #refund(String, LongSupplier, long, long)}. */
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
     * <p>Permits of a rate go to the key's own state only. They are lost to the strict side if the key has none: an evicted key
     * has recovered anyway, and permits from an overflow cell come back with time. Permits that were debited before the key was
     * {@linkplain #reset reset} are lost too.
     *
     * <p>Permits of a concurrency limit are always given back, and to where they were taken from.
     *
     * @param clock read after the state, so that no debit in it is later: as of an older time more would come back than the
     *     debit still counts for
     */
    abstract void refund(String key, LongSupplier clock, long debitedAt, long permits);

    /**
     * Takes as many of the permits as are available: the spend under another policy. Has no effect on a concurrency limit,
     * because no refund would bring those permits back.
     */
    void charge(String key, long now, long permits) {
        overdraw(key, now, permits, 0);
    }

    /**
     * Takes the permits whether they are available or not, so that at most {@code maxDebt} are overdrawn. Of several parts of
     * a policy each takes as many as it can. Has no effect on a concurrency limit.
     *
     * @return how many were not taken, of the part that took fewest
     */
    abstract long overdraw(String key, long now, long permits, long maxDebt);

    /**
     * Spends everything the key has left, in one atomic step: later requests here are denied.
     *
     * @return the spend before
     */
    abstract List<Spending> spendAll(String key, long now);

    /**
     * Lets the key start fresh. A key that shares an overflow cell gets its own state if there is room. If not, nothing
     * happens, because the other keys that share the cell must not gain. Has no effect on a concurrency limit: its permits are
     * not spent but in use, and come back by refund.
     *
     * @param clock debits up to its reading when the state is gone are not refundable any more
     */
    abstract void reset(String key, LongSupplier clock);

    /** What lies ahead of the key; a key that is not in the table does not enter it. */
    abstract Projection<?> projection(String key, long now);

    /** Keys in the table, overflow cells apart; never more than the bound. */
    abstract int size();

    /** Lets the present states count under another policy; false if they mean something else there. */
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
     * Another table takes over. No key is evicted here any more, because its spend counts there as of the change, though it
     * would have recovered here. A key that has not entered this table from the one before counts as fully spent.
     */
    void freeze(long now) {}
}
