package io.github.reactorratelimit.local;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.LongAlgorithm;
import io.github.reactorratelimit.algorithm.Projection;
import io.github.reactorratelimit.algorithm.Reading;
import io.github.reactorratelimit.algorithm.Spending;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
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
abstract class KeyTable {

    /** What {@link #attempt} returns if another thread was faster: neither taken nor denied. */
    static final long LOST = -2;

    private static final int OVERFLOW_CELLS = 1 << 16;

    /**
     * An empty table.
     *
     * @throws IllegalArgumentException if {@code maxKeys < 1}, or the policy has no exact steps at this tick
     */
    static KeyTable of(RateLimitPolicy policy, Algorithms.Clock clock, int maxKeys) {
        return of(policy, clock, maxKeys, OVERFLOW_CELLS);
    }

    /** @param overflowCells how many cells the keys share that find no room, a power of two */
    static KeyTable of(RateLimitPolicy policy, Algorithms.Clock clock, int maxKeys, int overflowCells) {
        return of(policy, clock, maxKeys, overflowCells, null);
    }

    /** A table whose keys begin with what they spent in the one before. */
    static KeyTable heir(RateLimitPolicy policy, Algorithms.Clock clock, int maxKeys, Inheritance inheritance) {
        return of(policy, clock, maxKeys, OVERFLOW_CELLS, inheritance);
    }

    private static KeyTable of(
            RateLimitPolicy policy,
            Algorithms.Clock clock,
            int maxKeys,
            int overflowCells,
            @Nullable Inheritance inheritance) {
        Forgetting forgetting = Forgetting.of(policy, clock);
        Optional<LongAlgorithm> longSteps = longSteps(policy, clock, forgetting);
        if (longSteps.isPresent() && !(policy instanceof ConcurrencyLimit)) {
            return new LongKeyTable(
                    LongWord.Shared.of(longSteps.get(), forgetting), maxKeys, overflowCells, inheritance);
        }
        Cell pristine = longSteps
                .<Cell>map(steps -> LongCell.fresh(steps, forgetting))
                .orElseGet(() -> ObjectCell.fresh(Algorithms.of(policy, clock), forgetting));
        return new BoundedKeyTable(pristine, policy, forgetting, maxKeys, overflowCells, inheritance);
    }

    private static Optional<LongAlgorithm> longSteps(
            RateLimitPolicy policy, Algorithms.Clock clock, Forgetting forgetting) {
        return forgetting.marginTicks() == 0 ? Algorithms.asLong(policy, clock) : Optional.empty();
    }

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
        return Decision.deny(reading.policy(), permits, quota(reading), reading.waitTicks());
    }

    static Decision.Quota quota(Reading reading) {
        return new Decision.Quota(reading.limit(), reading.remaining(), reading.resetTicks());
    }

    /**
     * Takes {@code permits} as of {@code at} as often as they are there, at most {@code most} times, and
     * tells how often: 0 if denied. More than once only where {@link #refund} can give them back: from the
     * key's own state. {@code most} times the permits lie within the capacity.
     */
    abstract long tryDebitUpTo(String key, long at, long permits, long most);

    /**
     * Like {@link #tryDebit}, as if at least {@code reserve} permits were spent as of {@code at}: in one
     * step what is missing to that is spent, and the permits are taken. Denied, the state is untouched.
     * Tries once: {@link #LOST} if another thread changed the key's own state meanwhile, and nothing was
     * taken. With a reserve, a key that gets no state of its own is denied; never {@link #LOST} for it.
     *
     * @param reserve 0, or less than the capacity of a token bucket with continuous refill or a GCRA
     */
    abstract long attempt(String key, long at, long permits, long reserve);

    /**
     * Spends, as of {@code at}, what is missing to {@code reserve} spent permits, and gives back {@code
     * back} of them, in one step. A key that gets no state of its own gets nothing back.
     *
     * @param reserve at least {@code back}; see {@link #attempt}
     * @return how many whole permits were missing
     */
    abstract long settle(String key, long at, long reserve, long back);

    /**
     * Takes permits that were debited before, without a look at the clock; false if there are none for
     * this key and thread. Waiters and pauses are the caller's business.
     */
    boolean takePrepaid(String key, long permits) {
        return false;
    }

    /**
     * As of when a request counts that comes now: earlier only where {@link PacedTable} says so. {@link
     * #tryDebit} sees to that itself.
     */
    long arrival(String key, long now) {
        return now;
    }

    /** One that was granted as of {@code slot} is being told, or leaves, now. */
    void told(String key, long slot, LongSupplier clock) {}

    /** Whatever was late for this key until now: nobody makes up for it any more. */
    void startAfresh(String key) {}

    /**
     * Like {@link #tryDebit}, with what the decision reports: {@link Reading#allowed()} tells whether
     * permits were taken.
     */
    abstract Reading debit(String key, long at, long permits);

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
    final void charge(String key, long now, long permits) {
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

    /** What the key has spent as of {@code at} and not recovered. */
    abstract List<Spending> spent(String key, long at);

    /** What keys that enter begin with; null if they begin afresh. */
    abstract @Nullable Inheritance inheritance();

    /** Tells of each key that has a state of its own, as long as it stays. */
    abstract void forEachKey(Consumer<String> action);

    /** Whether some keys found no room and share cells. */
    abstract boolean isOverflowing();

    /** Lets a key enter before it is asked for; false if there is no room. */
    abstract boolean adopt(String key, long now);

    /** Keys that enter from now on begin with this, or afresh if null. */
    abstract void inherit(@Nullable Inheritance inheritance);

    /**
     * Another table takes over: nothing is forgotten here any more, because what was spent counts there as of the
     * change, though it would have recovered here.
     */
    abstract void freeze();
}
