package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.algorithm.Tick;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * What a key of a GCRA or token bucket owes at least, and how much of the rest requests in flight claim.
 * Denies a request for which they leave nothing: an overloaded key sends Redis about as many requests as can
 * succeed.
 *
 * <p>A reply tells the debt at a time of the server. Other processes can only add to it, but for refunds and
 * changes, which begin a new generation of the cache; and it shrinks at the rate. The call was sent before
 * that time of the server, so what is left of the debt after the time since then is owed now: {@link #deny}
 * decides by that. The retry-after counts from the moment the reply came, so that a caller does not come back
 * too early.
 *
 * <p>A request in flight claims its cost. It drops its claim before its reply is learned, so a debit never
 * counts twice; it may be missing for a moment, which costs a call. A request that costs no less than any
 * claim is denied if what is left after the claims is not enough. Where other processes use the key too, a
 * request in flight may be denied because of them: then this denial is early, by less than a round trip.
 * Cheaper requests are denied by the debt alone.
 */
final class KnownDebt implements KnownDenial {

    private static final long NANOS_PER_TICK = 1_000;

    private static final AtomicLongFieldUpdater<KnownDebt> CLAIMED =
            AtomicLongFieldUpdater.newUpdater(KnownDebt.class, "claimedParts");

    private static final AtomicLongFieldUpdater<KnownDebt> DEAREST =
            AtomicLongFieldUpdater.newUpdater(KnownDebt.class, "dearestPermits");

    private record Known(long generation, long resetMicros, long sentNanos, long cameNanos) {}

    private final ScriptPolicy policy;
    private final BucketRate rate;
    private volatile Known known;
    private volatile long claimedParts;

    /** The most that a claim was for since this debt is known. */
    private volatile long dearestPermits;

    KnownDebt(ScriptPolicy policy, long generation, long resetMicros, long sentNanos, long cameNanos) {
        this.policy = policy;
        this.rate = Objects.requireNonNull(policy.bucketRate(), "bucketRate");
        this.known = new Known(generation, resetMicros, sentNanos, cameNanos);
    }

    /** A later reply, to a call that was sent in that generation. */
    void learn(long generation, long resetMicros, long sentNanos, long cameNanos) {
        known = new Known(generation, resetMicros, sentNanos, cameNanos);
    }

    void claim(long permits) {
        for (long dearest = dearestPermits; permits > dearest; dearest = dearestPermits) {
            DEAREST.compareAndSet(this, dearest, permits);
        }
        CLAIMED.addAndGet(this, rate.costParts(permits));
    }

    void release(long permits) {
        CLAIMED.addAndGet(this, -rate.costParts(permits));
    }

    @Override
    public long generation() {
        return known.generation();
    }

    @Override
    public boolean isOver(long nowNanos) {
        return nowNanos - known.cameNanos() >= KEEP_NANOS;
    }

    @Override
    public ScriptPolicy policy() {
        return policy;
    }

    @Override
    public @Nullable Decision deny(long permits, long missing, long nowNanos) {
        Known last = known;
        // Read before it is known whether a dearer one is among them.
        long claims = claimedParts;
        long claimed = missing >= dearestPermits ? claims : 0;
        // The reset-after is rounded up, and the server may be about to begin its next microsecond.
        long ticks = (nowNanos - last.sentNanos()) / NANOS_PER_TICK + 2;
        long owedAtLeast = rate.owedAfter(last.resetMicros() * rate.partsPerTick() + claimed, ticks);
        if (owedAtLeast <= rate.mostParts() - rate.costParts(missing)) {
            return null;
        }
        long gone = (nowNanos - last.cameNanos()) / NANOS_PER_TICK;
        long owedAtMost = rate.owedAfter(last.resetMicros() * rate.partsPerTick(), gone) + claimed;
        long excess = owedAtMost + rate.costParts(missing) - rate.mostParts();
        return Decision.deny(
                policy.policy(),
                permits,
                rate.capacity(),
                Math.max(0, rate.mostParts() - owedAtMost) / rate.partsPerPermit(),
                nanos(owedAtMost),
                nanos(excess));
    }

    private long nanos(long parts) {
        return Tick.MICROSECOND.toNanos(Math.max(1, rate.ticks(parts)));
    }
}
