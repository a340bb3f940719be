package io.github.reactorratelimit.local;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Spending;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

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
final class CarriedSpend {

    /** The table before, as far as the spend of its keys is needed. */
    interface Source {

        /** What the key has spent as of {@code at} and not recovered. */
        List<Spending> spent(String key, long at);

        /** The keys that have a state of their own, as far as they stay. */
        Iterator<String> keys();

        /** Whether {@link #keys} are all that may have spent anything: keys in overflow cells are not known. */
        boolean knowsAllKeys();
    }

    private static final int MOST_RESET = 10_000;

    /** Null if the spend is not known any more: then it counts as everything. */
    private final @Nullable Source before;

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
    CarriedSpend(@Nullable Source before, RateLimitPolicy policy, long asOf, long until) {
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

    /** See {@link Source#knowsAllKeys}. */
    boolean isComplete() {
        return before != null && before.knowsAllKeys();
    }
}
