package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * What Redis can have at most of a key, under a GCRA or token bucket, and how much of that is already asked for from here. Denies
 * what those who asked before leave nothing for.
 *
 * <p>An answer says what the key owed at some time of the server. Others can only make it owe more, but for what is given back or
 * changed, which begins a new generation; and it flows back at the rate. The call was sent before that time of the server, so at
 * least what is left of the debt after the time since then is owed now: {@link #deny} decides by that. What a caller
 * is told is counted from when the answer came, so that it does not come back too early.
 *
 * <p>Takes that are under way claim their cost. Whoever settles one first drops its claim and then learns the level that holds its
 * debit: so a debit may be missing for a moment, which costs a call, and never counts twice. An ask that costs no less than any claim is denied if what
 * can be there less what is claimed is not enough for it: if all who are under way and then this one were decided now, either one of
 * them found less than it costs, and so would this one, or all of them were allowed and left too little. Some of them may have been allowed
 * long enough ago that it flowed back; they were sent after the call that was answered last, so no more than what flows since that. Where other processes
 * take from the key too, one that is under way may already have been denied for their sake: then this denial is early, by less than the round
 * trip of the other. Cheaper asks are denied by what is owed alone.
 */
final class Level implements DenialCache.Entry {

    private static final long NANOS_PER_TICK = 1_000;

    private static final AtomicLongFieldUpdater<Level> CLAIMED =
            AtomicLongFieldUpdater.newUpdater(Level.class, "claimedParts");

    private static final AtomicLongFieldUpdater<Level> DEAREST =
            AtomicLongFieldUpdater.newUpdater(Level.class, "dearestPermits");

    private record Known(long generation, long owedParts, long sentNanos, long cameNanos) {}

    private final TakeTerms terms;
    private volatile Known known;
    private volatile long claimedParts;

    /** The most that a claim was for since this level is known. */
    private volatile long dearestPermits;

    Level(TakeTerms terms, long generation, long owedParts, long sentNanos, long cameNanos) {
        this.terms = terms;
        this.known = new Known(generation, owedParts, sentNanos, cameNanos);
    }

    /** Each policy has its terms once; others that are equal cost a call. */
    @SuppressWarnings("ReferenceEquality")
    boolean isOf(TakeTerms other) {
        return terms == other;
    }

    /** A later answer, of a call that was sent in that generation. */
    void learn(long generation, long owedParts, long sentNanos, long cameNanos) {
        known = new Known(generation, owedParts, sentNanos, cameNanos);
    }

    void claim(long permits) {
        for (long dearest = dearestPermits; permits > dearest; dearest = dearestPermits) {
            DEAREST.compareAndSet(this, dearest, permits);
        }
        CLAIMED.addAndGet(this, terms.cost(permits));
    }

    void release(long permits) {
        CLAIMED.addAndGet(this, -terms.cost(permits));
    }

    @Override
    public long generation() {
        return known.generation();
    }

    @Override
    public boolean isOver(long nowNanos) {
        return nowNanos - known.cameNanos() >= DenialCache.KEEP_NANOS;
    }

    @Override
    public RateLimitPolicy policy() {
        return terms.policy();
    }

    @Override
    public @Nullable Decision deny(long permits, long asked, long nowNanos) {
        Known last = known;
        // Read before it is known whether a dearer one is among them.
        long claims = claimedParts;
        long claimed = asked >= dearestPermits ? claims : 0;
        // The server may be about to begin its next microsecond.
        long ticks = (nowNanos - last.sentNanos()) / NANOS_PER_TICK + 1;
        if (terms.owedAfter(last.owedParts() + claimed, ticks) <= terms.mostParts() - terms.cost(asked)) {
            return null;
        }
        long owedAtMost = terms.owedAfter(last.owedParts(), (nowNanos - last.cameNanos()) / NANOS_PER_TICK);
        return terms.deny(permits, asked, owedAtMost + claimed);
    }
}
