package io.github.reactorratelimit;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The most permits that a policy gives one key: {@code burst + rate * T} in every span {@code T}, which for windows is
 * looser than the policy itself. For the audit, so whatever is uncertain is decided in favour of the store: a
 * grant lies between two times, counts as of the earlier one, and is judged at the later one. Costs are rounded down, and a
 * thousandth of the time since the key last owed nothing is granted for clocks that do not run alike.
 *
 * <p>Not thread-safe.
 */
final class GrantCeiling {

    /** The tick of a store, and the error of a sum. */
    private static final long LEEWAY_NANOS = 1_000;

    private static final long DRIFT_SHARE = 1_000;

    private final double nanosPerPermit;
    private final long burstNanos;

    /** When nothing is owed any more, at the earliest. */
    private long clearNanos;

    private long busySinceNanos;
    private boolean used;

    private GrantCeiling(long burst, long permits, Duration period) {
        this.nanosPerPermit = period.toNanos() / (double) permits;
        this.burstNanos = (long) Math.ceil(burst * nanosPerPermit);
    }

    /** Null for a policy whose grants have no such bound by their times: a {@link LeakyBucket} uses slots that have passed. */
    static @Nullable GrantCeiling of(RateLimitPolicy policy) {
        if (policy instanceof TokenBucket bucket) {
            long step = bucket.style() == TokenBucket.Refill.STEPWISE ? bucket.refill() : 0;
            return new GrantCeiling(bucket.capacity() + step, bucket.refill(), bucket.period());
        } else if (policy instanceof Gcra gcra) {
            return new GrantCeiling(gcra.burst(), gcra.permits(), gcra.period());
        } else if (policy instanceof FixedWindow fixed) {
            return new GrantCeiling(2 * fixed.limit(), fixed.limit(), shortest(fixed));
        } else if (policy instanceof SlidingWindowLog log) {
            return new GrantCeiling(log.limit(), log.limit(), log.window());
        } else if (policy instanceof SlidingWindowCounter counter) {
            return new GrantCeiling(2 * counter.limit(), counter.limit(), counter.window());
        }
        return null;
    }

    /** A calendar window may be shorter than its nominal length. */
    private static Duration shortest(FixedWindow fixed) {
        if (fixed.alignment() instanceof FixedWindow.Alignment.Calendar calendar) {
            return calendar.unit() == FixedWindow.Alignment.Unit.DAY ? Duration.ofHours(22) : Duration.ofDays(27);
        }
        return fixed.window();
    }

    /**
     * Permits were given.
     *
     * @param earliestNanos no grant that is told from now on was made before
     * @param latestNanos now: it was made by then
     * @return how many of them there cannot have been; those do not count as given
     */
    long given(long permits, long earliestNanos, long latestNanos) {
        if (!used || clearNanos <= earliestNanos) {
            clearNanos = earliestNanos;
            busySinceNanos = earliestNanos;
            used = true;
        }
        long next = clearNanos + cost(permits);
        long leeway = LEEWAY_NANOS + (latestNanos - busySinceNanos) / DRIFT_SHARE;
        long excess = next - burstNanos - latestNanos - leeway;
        if (excess <= 0) {
            clearNanos = next;
            return 0;
        }
        long over = Math.min(permits, (long) Math.ceil(excess / nanosPerPermit));
        clearNanos = next - cost(over);
        return over;
    }

    void cameBack(long permits) {
        clearNanos -= cost(permits);
    }

    /** Whatever was given is forgotten. */
    void clear() {
        used = false;
    }

    private long cost(long permits) {
        return (long) (permits * nanosPerPermit);
    }
}
