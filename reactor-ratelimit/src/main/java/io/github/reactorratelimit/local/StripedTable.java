package io.github.reactorratelimit.local;

import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.algorithm.Projection;
import io.github.reactorratelimit.algorithm.Reading;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * A table whose keys may become hot: threads that ask for one key take from {@linkplain HotKey stripes} of
 * prepaid permits, with neither a clock reading nor a word that they share. Only where CASes on the key's
 * state were lost, or where the key is {@linkplain BusyKeys asked for very often}, be it by one thread; and only
 * for buckets that are large against what the stripes hold. Everything else is what it is without stripes.
 *
 * <p><b>What is promised</b> is what the policy promises: at most {@code capacity + rate * W} in any
 * window W. Say that the state is the time T at which nothing is owed any more (in units of one permit),
 * B is the capacity and H all that the stripes can hold. A plain debit of n as of {@code at} is {@code T =
 * max(T, at) + n} if that is at most {@code at + B}. While a key is hot
 *
 * <ol>
 *   <li>each debit of its state counts H permits as spent at least: {@code T = max(T, at + H) + n}. That
 *       is {@link KeyTable#attempt} with a reserve;
 *   <li>stripes, with what is on its way to them, never hold more than H: a thread marks its stripe
 *       <em>before</em> it reads the clock for the debit that fills it, and one batch fits into it;
 *   <li>to close it, all stripes are shut, <em>then</em> the clock is read, then what was in them (g) goes
 *       back: {@code T = max(T, at + H) - g}. That is {@link KeyTable#settle}.
 * </ol>
 *
 * <p>Why the promise holds: take a window from s to u. What was prepaid before s and is spent in it, h, was
 * in the stripes at s, so h ≤ H. If the state is debited in it while the key is hot, by m, the first
 * debit leaves T ≥ s + H + its permits, the last one T ≤ u + B: so h + m ≤ H + m ≤ B + (u - s). If the
 * key is closed in it, T ≥ s + H + m - g after that; the stripes held H at most, so H - g covers
 * what was taken from them: T ≥ s + all that was given out, as it is for plain debits, which go on from there.
 * If the clock was read for closing before s, all stripes were shut by s, and h is 0.
 *
 * <p>A refund gives back n less what flowed since the debit at t. It needs no care: after the debit T ≥ t +
 * n + all that is debited later, stripes included. After a refund as of some time in the window, or later,
 * T ≥ s + all that.
 *
 * <p><b>Opening.</b> A thread may debit the plain way because it did not see that the key became hot. Who
 * opens a key reads the clock, then publishes it, then settles: {@code T ≥ openedAt + H}. What was missing to
 * that moves into the stripes. Who debits the plain way looks before, and
 * again after the debit. If there is nothing new, the debit came before the settling, and before everything
 * else. If {@code at <= openedAt}, it came before the settling too, or is the same as with the
 * reserve. Else it is made again, the hot way; the first one stays: one may count twice, which is stricter.
 *
 * <p>Who sees a key that is published, but perhaps not settled, debits it the plain way too if {@code at <= openedAt},
 * for the same reason. Later than that it counts the reserve as spent, as ever; and what was missing to it is lost
 * if it comes before the settling: less than a thousandth of the capacity, of a bucket that was all but full.
 *
 * <p><b>Nobody is denied for what is in a stripe.</b> When a batch more would leave little, the key is
 * closed, well before it has nothing left. Every other use of the key closes it first, so that what a decision
 * reports, waiters and resets are exact. One thread closes, the others do not wait for it: they debit with the
 * reserve, and what they report is off by as much; those who began to wait meanwhile are told when permits are back.
 * Who asks for the last permits at that very moment may be denied too early. So may be who asks for more than
 * all but H at the moment of opening; and a key that was left alone while it was hot has all but H at once, not
 * all, when it comes back, until it is closed.
 */
final class StripedTable extends WrappedTable {

    private static final int MIN_STRIPES = 2;
    private static final int MAX_STRIPES = 8;
    private static final int MIN_BATCH = 8;
    private static final int MAX_BATCH = 64;

    /** The reserve is at most this part of the capacity: what races may cost the strict side stays below a thousandth of it. */
    private static final int RESERVES_PER_CAPACITY = 1_024;

    /** So many reserves must be there to open a key: enough to fill each stripe twice before it is closed again. */
    private static final int RESERVES_TO_OPEN = 4;

    private static final int LOST_TO_OPEN = 16;
    private static final long LOST_WITHIN_NANOS = 1_000_000;
    private static final long IDLE_NANOS = 10_000_000;

    private final LongSupplier clock;
    private final Consumer<String> cameBack;
    private final int stripes;
    private final long batch;
    private final long reserve;
    private final HotKeys hotKeys = new HotKeys();
    private final BusyKeys busyKeys = new BusyKeys();

    StripedTable(KeyTable table, LongSupplier clock, Consumer<String> cameBack, int stripes, long batch) {
        super(table);
        this.clock = clock;
        this.cameBack = cameBack;
        this.stripes = stripes;
        this.batch = batch;
        this.reserve = stripes * batch;
    }

    /**
     * The table with stripes for its hot keys, or just the table if the policy is not for that.
     *
     * @param cameBack told of keys whose permits came back from stripes: somebody may wait for them
     */
    static KeyTable over(KeyTable table, RateLimitPolicy policy, LongSupplier clock, Consumer<String> cameBack) {
        int stripes = stripes(Runtime.getRuntime().availableProcessors());
        long batch = Math.min(MAX_BATCH, policy.capacity() / RESERVES_PER_CAPACITY / stripes);
        return isContinuous(policy) && batch >= MIN_BATCH
                ? new StripedTable(table, clock, cameBack, stripes, batch)
                : table;
    }

    private static boolean isContinuous(RateLimitPolicy policy) {
        return policy instanceof Gcra
                || (policy instanceof TokenBucket bucket && bucket.style() == TokenBucket.Refill.CONTINUOUS);
    }

    private static int stripes(int processors) {
        int stripes = MIN_STRIPES;
        while (stripes < processors && stripes < MAX_STRIPES) {
            stripes *= 2;
        }
        return stripes;
    }

    @Override
    boolean takePrepaid(String key, long permits) {
        return hotKeys.mayHavePrepaid() && takePrepaidFrom(hotKeys.at(key), key, permits);
    }

    private static boolean takePrepaidFrom(HotKey hot, String key, long permits) {
        return hot.isFor(key) && hot.take(hot.seat(), permits);
    }

    @Override
    long tryDebit(String key, long at, long permits) {
        for (; ; ) {
            HotKey seen = hotKeys.at(key);
            boolean hot = seen.isFor(key) && seen.isActive();
            long waitTicks = hot ? debitHot(seen, key, at, permits) : table.attempt(key, at, permits, 0);
            if (waitTicks == LOST) {
                if (!hot) {
                    noteLost(seen, key, at);
                }
            } else if (waitTicks != 0 || hot) {
                return waitTicks;
            } else if (!hotKeys.mayHaveMissed(seen, key, at)) {
                if (BusyKeys.isSample(at)) {
                    noteSample(seen, key, at);
                }
                return 0;
            }
        }
    }

    /** {@link #LOST} if the key is hot no longer. */
    private long debitHot(HotKey hot, String key, long at, long permits) {
        if (hot.isOpening() && at <= hot.openedAt) {
            return table.attempt(key, at, permits, 0);
        }
        if (permits <= batch) {
            int stripe = hot.seat();
            if (hot.take(stripe, permits)) {
                return 0;
            }
            long left = hot.mark(stripe, permits);
            if (left != HotKey.NOT_MARKED) {
                if (fill(hot, key, stripe, left, permits)) {
                    return 0;
                }
                if (isCold(hot)) {
                    return LOST;
                }
            }
        }
        long waitTicks = debitReserved(key, at, permits);
        return waitTicks != 0 && isCold(hot) ? LOST : waitTicks;
    }

    private boolean isCold(HotKey hot) {
        return close(hot) || !hot.isActive();
    }

    /** Debits a batch, takes the permits and puts the rest into the marked stripe; false if the key should be hot no longer. */
    private boolean fill(HotKey hot, String key, int stripe, long left, long permits) {
        long now = clock.getAsLong();
        boolean worthIt = !hot.isIdle(now, IDLE_NANOS) && table.waitTicks(key, now, batch + reserve) == 0;
        if (!worthIt || debitReserved(key, now, batch) != 0) {
            hot.unmark(stripe, left, left);
            return false;
        }
        hot.noteFilled(now);
        if (!hot.unmark(stripe, left, left + batch - permits)) {
            table.refund(key, clock, now, batch - permits);
            cameBack.accept(key);
        }
        return true;
    }

    private long debitReserved(String key, long at, long permits) {
        long waitTicks = LOST;
        while (waitTicks == LOST) {
            waitTicks = table.attempt(key, at, permits, reserve);
        }
        return waitTicks;
    }

    private void noteLost(HotKey seen, String key, long at) {
        if (seen.countLost(at, LOST_WITHIN_NANOS) >= LOST_TO_OPEN) {
            openIfFree(seen, key, at);
        }
    }

    private void noteSample(HotKey seen, String key, long at) {
        if (busyKeys.countSample(key, at)) {
            openIfFree(seen, key, at);
        }
    }

    private void openIfFree(HotKey seen, String key, long at) {
        if (!seen.isActive()) {
            open(seen, key, at);
        } else if (seen.isIdle(at, IDLE_NANOS)) {
            close(seen);
        }
    }

    private void open(HotKey seen, String key, long at) {
        if (table.waitTicks(key, at, RESERVES_TO_OPEN * reserve) == 0) {
            HotKey opening = HotKey.opening(key, seen, clock.getAsLong(), stripes);
            if (hotKeys.replace(seen, opening)) {
                opening.open(table.settle(key, opening.openedAt, reserve, 0), batch);
            }
        }
    }

    /** Makes the key hot, if nobody has its place. */
    void open(String key) {
        HotKey seen = hotKeys.at(key);
        if (!seen.isActive()) {
            open(seen, key, clock.getAsLong());
        }
    }

    boolean isHot(String key) {
        HotKey hot = hotKeys.at(key);
        return hot.isFor(key) && hot.isActive();
    }

    /** False if another thread closes it, or opens it just now. */
    private boolean close(HotKey hot) {
        if (!hot.beginClosing()) {
            return false;
        }
        long back = hot.shut();
        table.settle(hot.key(), clock.getAsLong(), reserve, back);
        hot.closed();
        if (back > 0) {
            cameBack.accept(hot.key());
        }
        return true;
    }

    /** Lets the key be debited the plain way as of {@code at}; returns what is in its place. */
    private HotKey cool(String key, long at) {
        HotKey seen = hotKeys.at(key);
        if (seen.isFor(key) && seen.isActive() && !close(seen) && seen.isActive() && at > seen.openedAt) {
            table.settle(key, at, reserve, 0);
        }
        return seen;
    }

    private void cool(String key) {
        HotKey seen = hotKeys.at(key);
        if (seen.isFor(key)) {
            close(seen);
        }
    }

    @Override
    Reading debit(String key, long at, long permits) {
        for (; ; ) {
            HotKey seen = cool(key, at);
            Reading reading = table.debit(key, at, permits);
            if (!reading.allowed() || !hotKeys.mayHaveMissed(seen, key, at)) {
                return reading;
            }
        }
    }

    @Override
    long tryDebitUpTo(String key, long at, long permits, long most) {
        if (isHot(key)) {
            return tryDebit(key, at, permits) == 0 ? 1 : 0;
        }
        for (; ; ) {
            HotKey seen = cool(key, at);
            long times = table.tryDebitUpTo(key, at, permits, most);
            if (times == 0 || !hotKeys.mayHaveMissed(seen, key, at)) {
                return times;
            }
        }
    }

    /** Unlike a debit that is made again, the first charge is taken back: it is somebody's account, and shall balance. */
    @Override
    long overdraw(String key, long now, long permits, long maxDebt) {
        for (; ; ) {
            HotKey seen = cool(key, now);
            long left = table.overdraw(key, now, permits, maxDebt);
            if (left == permits || !hotKeys.mayHaveMissed(seen, key, now)) {
                return left;
            }
            table.refund(key, clock, now, permits - left);
        }
    }

    @Override
    void refund(String key, LongSupplier clock, long debitedAt, long permits) {
        cool(key);
        table.refund(key, clock, debitedAt, permits);
    }

    @Override
    void reset(String key, LongSupplier now) {
        cool(key);
        table.reset(key, now);
    }

    @Override
    Reading read(String key, long now, long permits) {
        cool(key);
        return table.read(key, now, permits);
    }

    @Override
    long waitTicks(String key, long at, long permits) {
        cool(key);
        return table.waitTicks(key, at, permits);
    }

    @Override
    Projection<?> projection(String key, long now) {
        cool(key);
        return table.projection(key, now);
    }

    @Override
    long attempt(String key, long at, long permits, long reserve) {
        throw new UnsupportedOperationException("the stripes' own step");
    }

    @Override
    long settle(String key, long at, long reserve, long back) {
        throw new UnsupportedOperationException("the stripes' own step");
    }

    @Override
    void freeze() {
        hotKeys.forEach(this::close);
        table.freeze();
    }
}
