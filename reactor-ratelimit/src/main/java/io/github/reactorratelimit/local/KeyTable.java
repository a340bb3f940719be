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
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The keys of one policy in this process. Every method is one atomic step on one key and never blocks.
 *
 * <p>Times are readings of one clock that does not go backward, but may arrive out of order. A debit of an evicted key counts
 * as made at the time of the eviction if {@code at} is earlier.
 */
abstract class KeyTable {

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
        return Decision.deny(reading.policy(), permits, reading.remaining(), reading.resetTicks(), reading.waitTicks());
    }

    /** A debit as a decision, or its denial. */
    static Decision decision(Reading reading, Object owner, RateLimitPolicy policy, String key, long at, long permits) {
        return reading.allowed()
                ? Decision.allow(
                        reading.policy(),
                        reading.remaining(),
                        reading.resetTicks(),
                        reading.moreTicks(),
                        new Debit(owner, key, policy, permits, at))
                : denial(reading, permits);
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
     * Takes the permits whether they are available or not, so that at most {@code maxDebt} are overdrawn. Of several parts of
     * a policy each takes as many as it can. Has no effect on a concurrency limit, because no refund would bring those
     * permits back.
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

    /** Lets the present states count under another policy; false if they mean something else there. */
    boolean changeTo(RateLimitPolicy policy) {
        return false;
    }

    /** What the key has spent as of {@code at} and not recovered. */
    abstract List<Spending> spent(String key, long at);

    /** Whether another table may take over when the policy changes for all keys. */
    boolean mayBeReplaced() {
        return true;
    }

    /** What keys that enter start with; null if they start fresh. */
    @Nullable
    CarriedSpend carried() {
        return null;
    }

    /** The keys that have a state of their own, as far as they stay. */
    Iterator<String> keys() {
        return Collections.emptyIterator();
    }

    /** Whether {@link #keys} are all that may have spent anything: keys in overflow cells are not known. */
    boolean knowsAllKeys() {
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

    /**
     * What the keys of a table spent under the policy before it: a key that enters the table starts with it.
     *
     * <p><b>When.</b> The spend is read as of the change and counts in the new table from the change on, whenever the key
     * enters: it recovers at the new rate. Reading it again gives the same. So an evicted key that returns may start with
     * it again: the key was evicted because it had recovered, and this recovers no later.
     *
     * <p><b>No debit is missed.</b> A thread that has not seen the change may still debit the table before. After its debit
     * it checks the policy version, and if that has changed, it debits the new table too. A thread that lets a key enter
     * the new table came after the change: it first publishes the entering, then reads the table before. So it sees the
     * debit, or the debiting thread sees the change, or both. A debit may count twice, which is stricter.
     */
    static final class CarriedSpend {

        private static final int MOST_RESET = 10_000;

        /** Null if the spend is not known any more: then it counts as everything. */
        private final @Nullable KeyTable before;

        private final RateLimitPolicy policy;
        final long asOf;

        /** When nothing of it is left, whichever key comes. */
        private final long until;

        /** Keys that were reset since the change. */
        private final Set<String> reset = ConcurrentHashMap.newKeySet();

        /**
         * @param policy the new one
         * @param until when a key that had spent everything at the change has recovered under the new policy
         */
        CarriedSpend(@Nullable KeyTable before, RateLimitPolicy policy, long asOf, long until) {
            this.before = before;
            this.policy = policy;
            this.asOf = asOf;
            this.until = until;
        }

        /** The same without the table before: a key that has not entered counts as fully spent. */
        CarriedSpend asFullySpent() {
            return new CarriedSpend(null, policy, asOf, until);
        }

        boolean isOver(long now) {
            return now >= until;
        }

        /** What the key had spent at the change. */
        List<Spending> spent(String key) {
            if (reset.contains(key)) {
                return List.of();
            }
            return before == null ? List.of(new Spending(policy, Long.MAX_VALUE / 4)) : before.spent(key, asOf);
        }

        boolean hasSpent(String key) {
            return spent(key).stream().anyMatch(spending -> spending.permits() > 0);
        }

        /** The key was reset. Beyond a bound of such keys, the spend of an evicted one comes back. */
        void reset(String key) {
            if (reset.size() < MOST_RESET) {
                reset.add(key);
            }
        }

        /** The keys with a state of their own in the table before. */
        Iterator<String> keys() {
            return before == null ? Collections.emptyIterator() : before.keys();
        }

        /** See {@link KeyTable#knowsAllKeys}. */
        boolean isComplete() {
            return before != null && before.knowsAllKeys();
        }
    }
}
