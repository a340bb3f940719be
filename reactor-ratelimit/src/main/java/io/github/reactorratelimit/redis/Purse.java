package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * The permits of one key that were debited and not yet spent, and how many to debit next. The size of a
 * batch doubles when the last one was asked for a moment ago, and halves when most of one was not spent.
 */
final class Purse {

    private static final long FIRST_BATCH = 8;

    /** An instance holds at most one of so many permits of a key. */
    private static final long SHARE = 4;

    private static final Batch[] EMPTY = {};

    private static final AtomicReferenceFieldUpdater<Purse, Batch[]> BATCHES =
            AtomicReferenceFieldUpdater.newUpdater(Purse.class, Batch[].class, "batches");

    private enum State {
        /** Nothing is under way. */
        IDLE,
        /** A batch is under way; another is not asked for. */
        REFILLING,
        /** Out of use: nothing is asked for any more. */
        RETIRED
    }

    /** What Redis said last: what it has beside what is here. */
    private record Known(RateLimitPolicy part, long remaining, long resetAtNanos) {}

    private final String key;
    private final RateLimitPolicy policy;
    private final long most;
    private final long leaseNanos;
    private final AtomicReference<State> state = new AtomicReference<>(State.IDLE);

    /** Oldest first, seldom more than two; never changed in place. */
    private volatile Batch[] batches = EMPTY;

    /** Taken by asks whose other permits are under way: they may come back. */
    private final AtomicLong heldPermits = new AtomicLong();

    private volatile Known known;
    private volatile boolean hot;
    private volatile long askedAtNanos;
    private volatile long notBeforeNanos;
    private volatile long size;

    /** Belongs to whoever refills. */
    private long refilledAtNanos;

    /** The sweep's, as is the field below. */
    private long leftBefore;

    private int quietSweeps;

    Purse(String key, RateLimitPolicy policy, long leaseNanos, long nowNanos) {
        this.key = key;
        this.policy = policy;
        this.most = most(policy);
        this.leaseNanos = leaseNanos;
        this.size = Math.min(FIRST_BATCH, most);
        this.known = new Known(policy, 0, Decision.Quota.UNKNOWN);
        this.askedAtNanos = nowNanos - leaseNanos;
        this.notBeforeNanos = nowNanos;
        this.refilledAtNanos = nowNanos - leaseNanos;
    }

    /** How many permits of a key one instance may hold. */
    static long most(RateLimitPolicy policy) {
        return policy.capacity() / SHARE;
    }

    String key() {
        return key;
    }

    RateLimitPolicy policy() {
        return policy;
    }

    boolean isOf(RateLimitPolicy other) {
        return policy == other || policy.equals(other);
    }

    long left() {
        long left = 0;
        for (Batch batch : batches) {
            left += batch.left();
        }
        return left;
    }

    /** Takes from one batch, which is returned: the caller looks whether it is over. Null if none has so many. */
    @Nullable
    Batch take(long permits) {
        for (Batch batch : batches) {
            if (batch.take(permits)) {
                return batch;
            }
        }
        return null;
    }

    /** Takes as many as there are, from all batches. */
    Held hold(long permits) {
        List<Held.Part> parts = new ArrayList<>();
        long missing = permits;
        for (Batch batch : batches) {
            long taken = batch.takeUpTo(missing);
            if (taken > 0) {
                parts.add(new Held.Part(batch, taken));
                missing -= taken;
            }
        }
        heldPermits.addAndGet(permits - missing);
        return new Held(this, parts);
    }

    /** Of those held so many are spent, given back or here again. */
    void released(long permits) {
        heldPermits.addAndGet(-permits);
    }

    void learn(RateLimitPolicy part, long remaining, long resetAtNanos) {
        known = new Known(part, remaining, resetAtNanos);
    }

    /** The part that binds, what it has here and in Redis, and when it is whole again. */
    RateLimitPolicy part() {
        return known.part();
    }

    Decision.Quota quota(long nowNanos) {
        Known last = known;
        long resetAfter = last.resetAtNanos() == Decision.Quota.UNKNOWN
                ? Decision.Quota.UNKNOWN
                : Math.max(1, last.resetAtNanos() - nowNanos);
        return new Decision.Quota(last.part().capacity(), last.remaining() + left(), resetAfter);
    }

    /** An ask that needs Redis. Two in a lease time make a key worth a lease. */
    void asked(long nowNanos) {
        hot = nowNanos - askedAtNanos < leaseNanos;
        askedAtNanos = nowNanos;
    }

    boolean isHot() {
        return hot;
    }

    /** Whether it is time to ask for the next batch, so that nobody has to wait for it. */
    boolean isLow(long nowNanos) {
        return state.get() == State.IDLE && nowNanos - notBeforeNanos >= 0 && left() <= size / 2;
    }

    /** Whether the caller is the one who refills now: it has to end that. */
    boolean beginRefill() {
        return state.compareAndSet(State.IDLE, State.REFILLING);
    }

    /** How many to ask for, perhaps none. */
    long nextBatch(long nowNanos) {
        if (nowNanos - refilledAtNanos < leaseNanos / 4) {
            size = Math.min(2 * size, most);
        }
        refilledAtNanos = nowNanos;
        askedAtNanos = nowNanos;
        return Math.min(size, most - left() - heldPermits.get());
    }

    void endRefill(long notBeforeNanos) {
        this.notBeforeNanos = notBeforeNanos;
        state.set(State.IDLE);
    }

    /** Adds a batch, and takes those that are empty out of the purse: the caller closes them. */
    List<Batch> add(Batch batch) {
        for (; ; ) {
            Batch[] seen = batches;
            List<Batch> kept = new ArrayList<>();
            List<Batch> dropped = new ArrayList<>();
            for (Batch old : seen) {
                (old.left() > 0 ? kept : dropped).add(old);
            }
            kept.add(batch);
            if (BATCHES.compareAndSet(this, seen, kept.toArray(EMPTY))) {
                return dropped;
            }
        }
    }

    /** Takes all batches out of the purse: the caller closes them. */
    List<Batch> empty() {
        return List.of(BATCHES.getAndSet(this, EMPTY));
    }

    /**
     * Takes the batches that are over out of the purse, or all if nothing was spent for two sweeps: the caller,
     * which is the sweep, closes them.
     */
    List<Batch> outdated(long nowNanos) {
        long left = left();
        quietSweeps = left > 0 && left == leftBefore ? quietSweeps + 1 : 0;
        leftBefore = left;
        if (quietSweeps >= 2) {
            quietSweeps = 0;
            size = Math.min(FIRST_BATCH, most);
            return empty();
        }
        List<Batch> over = new ArrayList<>();
        for (Batch batch : batches) {
            if (batch.isOver(nowNanos, leaseNanos)) {
                over.add(batch);
                if (batch.left() > batch.permits() / 2) {
                    size = Math.max(1, size / 2);
                }
            }
        }
        if (!over.isEmpty()) {
            BATCHES.updateAndGet(
                    this,
                    seen -> Arrays.stream(seen)
                            .filter(batch -> !over.contains(batch))
                            .toArray(Batch[]::new));
        }
        return over;
    }

    /** Out of use if nothing is left and nobody has asked for a lease time; for the sweep only. */
    boolean retire(long nowNanos) {
        return left() == 0 && nowNanos - askedAtNanos >= leaseNanos && state.compareAndSet(State.IDLE, State.RETIRED);
    }
}
