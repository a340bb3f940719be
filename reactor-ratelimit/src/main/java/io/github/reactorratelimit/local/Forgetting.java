package io.github.reactorratelimit.local;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithms;

/**
 * When a table forgot last, and how long it must wait before it may.
 *
 * <p><b>The horizon</b> is the latest time as of which a state was forgotten. A thread may carry an
 * earlier clock reading when it meets the key again; as of that reading the forgotten state may have
 * denied what a fresh one allows. The thread runs after the forgetting, so the horizon is a time its
 * clock has reached too: what is fresh is debited as of the horizon, not before.
 *
 * <p><b>The margin</b> is for policies whose phase is set by the first request: windows from the first
 * request and stepwise refill. A forgotten key may come back to an overflow cell whose phase others
 * have set. Its last own window could then touch two more, closer together than the policy allows;
 * an idle time of one period between them keeps the policy's worst case.
 */
final class Forgetting {

    private final long marginTicks;

    /** Written only by the sweeping thread, of which there is one at a time. */
    private volatile long horizon;

    private Forgetting(long marginTicks, long start) {
        this.marginTicks = marginTicks;
        this.horizon = start;
    }

    static Forgetting of(RateLimitPolicy policy, Algorithms.Clock clock) {
        return new Forgetting(
                clock.tick().ticks("phase", Algorithms.traits(policy).phase()), clock.start());
    }

    long marginTicks() {
        return marginTicks;
    }

    long horizon() {
        return horizon;
    }

    /** The time as of which a debit counts that may meet what was forgotten. */
    long notBefore(long at) {
        return Math.max(at, horizon);
    }

    /** Called before a cell is killed, so that whoever misses it sees the horizon. */
    void advanceTo(long now) {
        if (now > horizon) {
            horizon = now;
        }
    }
}
