package io.github.reactorratelimit.local;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithms;

/**
 * The latest time as of which a table evicted a key, and how long a key must be idle before that.
 *
 * <p><b>The horizon.</b> A thread may carry an earlier clock reading when it meets an evicted key again. As of that reading
 * the evicted state may have denied what a fresh one allows. The thread runs after the eviction, so its clock has reached
 * the horizon too: a fresh state is debited as of the horizon, not before.
 *
 * <p><b>The margin</b> is for policies whose phase is set by the first request: windows from the first request and stepwise
 * refill. An evicted key may return to an overflow cell whose phase other keys have set. Its last own window could then
 * touch two more, closer together than the policy allows. An idle time of one period between them keeps the policy's worst
 * case.
 */
final class EvictionHorizon {

    private final long marginTicks;

    /** Written only by the evicting thread, of which there is one at a time. */
    private volatile long horizon;

    private EvictionHorizon(long marginTicks, long start) {
        this.marginTicks = marginTicks;
        this.horizon = start;
    }

    static EvictionHorizon of(RateLimitPolicy policy, Algorithms.Clock clock) {
        return new EvictionHorizon(
                clock.tick().ticks("phase", Algorithms.traits(policy).phase()), clock.start());
    }

    long marginTicks() {
        return marginTicks;
    }

    long horizon() {
        return horizon;
    }

    /** The time as of which a debit counts that may meet an evicted key. */
    long notBefore(long at) {
        return Math.max(at, horizon);
    }

    /** Called before a cell is killed, so that a thread that misses it sees the horizon. */
    void advanceTo(long now) {
        if (now > horizon) {
            horizon = now;
        }
    }
}
