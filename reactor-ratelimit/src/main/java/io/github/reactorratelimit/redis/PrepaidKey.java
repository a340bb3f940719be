package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * The prepaid permits of one key, and how many to debit next. The size of a batch doubles if the last one was
 * debited a moment ago, and halves if most of one was not spent.
 */
final class PrepaidKey {

    private static final long FIRST_BATCH = 8;

    /** An instance holds at most one of so many permits of a key. */
    private static final long SHARE = 4;

    /** So often in a lease time expired permits are refunded, and requests are counted from zero. */
    static final int SWEEPS_PER_LEASE = 4;

    /** Requests that must reach Redis in that time before permits of a key are prepaid. */
    private static final int WORTH_REQUESTS = 2;

    private static final Batch[] EMPTY = {};

    private static final AtomicReferenceFieldUpdater<PrepaidKey, Batch[]> BATCHES =
            AtomicReferenceFieldUpdater.newUpdater(PrepaidKey.class, Batch[].class, "batches");

    /**
     * Permits that were debited together. Any thread takes some with one CAS; the one that closes it owns the
     * rest.
     */
    static final class Batch {

        /** As {@link #left}: nothing is taken any more. */
        private static final long CLOSED = -1;

        private final long permits;
        private final long atMicros;
        private final long sentNanos;
        private final AtomicLong left;

        /**
         * @param permits how many, at least one
         * @param atMicros the server's time of the debit
         * @param sentNanos the time here before the call was sent: earlier than the debit
         */
        Batch(long permits, long atMicros, long sentNanos) {
            this.permits = permits;
            this.atMicros = atMicros;
            this.sentNanos = sentNanos;
            this.left = new AtomicLong(permits);
        }

        long left() {
            return Math.max(0, left.get());
        }

        boolean isExpired(long nowNanos, long leaseNanos) {
            return nowNanos - sentNanos >= leaseNanos;
        }

        /** Takes all of the permits or none. */
        boolean take(long wanted) {
            long seen = left.get();
            while (seen >= wanted && !left.compareAndSet(seen, seen - wanted)) {
                seen = left.get();
            }
            return seen >= wanted;
        }

        /** What was left, which is the caller's now. */
        long close() {
            return Math.max(0, left.getAndSet(CLOSED));
        }
    }

    /** What Redis replied last: what it has beside the prepaid permits. */
    private record Known(RateLimitPolicy part, long remaining, long resetAtNanos) {}

    private final String key;
    private final @Nullable RateLimitPolicy override;
    private final ScriptPolicy policy;
    private final long most;
    private final long leaseNanos;

    /** Whether a batch is in flight, or the key is out of use. */
    private final AtomicBoolean refilling = new AtomicBoolean();

    private final AtomicInteger requests = new AtomicInteger();

    /** Oldest first, seldom more than two; never changed in place. */
    private volatile Batch[] batches = EMPTY;

    private volatile long countedSinceNanos;
    private volatile Known known;
    private volatile long notBeforeNanos;
    private volatile long size;

    /** Belongs to the thread that refills. */
    private long refilledAtNanos;

    PrepaidKey(String key, @Nullable RateLimitPolicy override, ScriptPolicy policy, long leaseNanos, long nowNanos) {
        this.key = key;
        this.override = override;
        this.policy = policy;
        this.most = most(policy);
        this.leaseNanos = leaseNanos;
        this.size = Math.min(FIRST_BATCH, most);
        this.known = new Known(policy.policy(), 0, Decision.UNKNOWN);
        this.notBeforeNanos = nowNanos;
        this.countedSinceNanos = nowNanos;
        this.refilledAtNanos = nowNanos - leaseNanos;
    }

    /** How many permits of a key one instance may hold. */
    static long most(ScriptPolicy policy) {
        return policy.policy().capacity() / SHARE;
    }

    String key() {
        return key;
    }

    @Nullable
    RateLimitPolicy override() {
        return override;
    }

    ScriptPolicy policy() {
        return policy;
    }

    long left() {
        long left = 0;
        for (Batch batch : batches) {
            left += batch.left();
        }
        return left;
    }

    /**
     * Takes from one batch, which is returned: the caller checks whether it is expired. Null if none has so
     * many.
     */
    @Nullable
    Batch take(long permits) {
        for (Batch batch : batches) {
            if (batch.take(permits)) {
                return batch;
            }
        }
        return null;
    }

    Debit debit(Object owner, long permits, Batch batch) {
        return new Debit(owner, key, policy.policy(), permits, batch.atMicros);
    }

    void learn(CommandReply reply, long nowNanos) {
        long resetAfter = reply.resetNanos();
        known = new Known(
                reply.binding(),
                reply.remaining(),
                resetAfter == Decision.UNKNOWN ? resetAfter : nowNanos + resetAfter);
    }

    /** Allows permits that were taken out of a batch. */
    Decision allow(Debit debit, long nowNanos) {
        Known last = known;
        long resetAfter = last.resetAtNanos() == Decision.UNKNOWN
                ? Decision.UNKNOWN
                : Math.max(1, last.resetAtNanos() - nowNanos);
        return Decision.allow(last.part(), last.remaining() + left(), resetAfter, Decision.UNKNOWN, debit);
    }

    /** A request reached Redis. True if the key is used so much that permits are worth being prepaid. */
    boolean countRequest(long nowNanos) {
        if (nowNanos - countedSinceNanos >= leaseNanos / SWEEPS_PER_LEASE) {
            countedSinceNanos = nowNanos;
            requests.set(0);
        }
        return requests.incrementAndGet() >= WORTH_REQUESTS;
    }

    /** Whether it is time for the next batch, so that no request has to wait for it. */
    boolean isLow(long nowNanos) {
        return !refilling.get() && nowNanos - notBeforeNanos >= 0 && left() <= size / 2;
    }

    /** Whether the caller is the one that refills: it has to {@linkplain #endRefill end} that. */
    boolean beginRefill() {
        return refilling.compareAndSet(false, true);
    }

    /** How many permits to debit, perhaps none. */
    long nextBatch(long nowNanos) {
        if (nowNanos - refilledAtNanos < leaseNanos / 4) {
            size = Math.min(2 * size, most);
        }
        refilledAtNanos = nowNanos;
        return Math.min(size, most - left());
    }

    void endRefill(long notBeforeNanos) {
        this.notBeforeNanos = notBeforeNanos;
        refilling.set(false);
    }

    /** Adds a batch, and removes those that are empty. */
    void add(Batch batch) {
        BATCHES.updateAndGet(this, seen -> {
            List<Batch> kept = new ArrayList<>();
            for (Batch old : seen) {
                if (old.left() > 0) {
                    kept.add(old);
                }
            }
            kept.add(batch);
            return kept.toArray(EMPTY);
        });
    }

    /** Removes all batches: the caller closes them. */
    List<Batch> removeAll() {
        return List.of(BATCHES.getAndSet(this, EMPTY));
    }

    /** Removes the expired batches: the caller, which is the sweep, closes them. */
    List<Batch> removeExpired(long nowNanos) {
        List<Batch> expired = new ArrayList<>();
        for (Batch batch : batches) {
            if (batch.isExpired(nowNanos, leaseNanos)) {
                expired.add(batch);
                if (batch.left() > batch.permits / 2) {
                    size = Math.max(1, size / 2);
                }
            }
        }
        if (!expired.isEmpty()) {
            BATCHES.updateAndGet(
                    this,
                    seen -> Arrays.stream(seen)
                            .filter(batch -> !expired.contains(batch))
                            .toArray(Batch[]::new));
        }
        return expired;
    }

    /** Goes out of use if nothing is left and no request came since the last sweep; for the sweep only. */
    boolean retire(long nowNanos) {
        return nowNanos - countedSinceNanos >= 2 * leaseNanos / SWEEPS_PER_LEASE && left() == 0 && beginRefill();
    }
}
