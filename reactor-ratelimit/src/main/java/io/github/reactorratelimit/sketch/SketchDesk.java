package io.github.reactorratelimit.sketch;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Projection;
import io.github.reactorratelimit.algorithm.Reading;
import io.github.reactorratelimit.waiting.Desk;

/** One key of a {@link SketchState} under one policy, as the lines see it. */
final class SketchDesk implements Desk {

    private final SketchState state;
    private final String key;
    private final RateLimitPolicy policy;
    private final SketchCells cells;

    SketchDesk(SketchState state, String key, RateLimitPolicy policy) {
        this.state = state;
        this.key = key;
        this.policy = policy;
        this.cells = state.cells(policy);
    }

    @Override
    public long now() {
        return state.now();
    }

    @Override
    public RateLimitPolicy policy() {
        return policy;
    }

    @Override
    public long pausedUntil() {
        return state.pausedUntil(key);
    }

    Decision evaluate(long permits) {
        long now = now();
        return state.mustWait(key, now) ? denyInLine(now, permits) : debit(now, permits);
    }

    Decision peek(long permits) {
        long now = now();
        if (state.mustWait(key, now)) {
            return denyInLine(now, permits);
        }
        Reading reading = cells.read(key, now, permits);
        return reading.allowed() ? Decision.wouldAllow(policy, permits, quota(reading)) : denial(reading, permits);
    }

    @Override
    public long waitNanos(long at, long permits) {
        return cells.waitTicks(key, at, permits);
    }

    @Override
    public Decision debit(long at, long permits) {
        SketchCells.Mark mark = new SketchCells.Mark(state);
        return cells.take(key, at, permits, mark)
                ? Decision.allow(policy, quota(cells.readAfter(mark, at)), new Debit(mark, key, policy, permits, at))
                : denied(at, permits);
    }

    /**
     * A denial of what was not there a moment ago. A refund may have come since: then who asks may come again
     * at once, as far as anybody knows.
     */
    Decision denied(long at, long permits) {
        Reading reading = cells.read(key, at, permits);
        return reading.allowed() ? Decision.deny(policy, permits, quota(reading), 1) : denial(reading, permits);
    }

    @Override
    public void refund(Debit debit) {
        state.giveBack(debit);
    }

    @Override
    public void undo(Debit debit) {
        state.giveBackQuietly(debit);
    }

    Decision denyInLine(long now, long permits) {
        return deny(now, permits, state.grantedAt(key, this, now, permits));
    }

    @Override
    public Decision deny(long now, long permits, long grantedAt) {
        Reading reading = cells.read(key, now, permits);
        Decision.Quota nothingAtOnce = new Decision.Quota(reading.limit(), 0, reading.resetTicks());
        long retryAfter = grantedAt == Algorithm.UNKNOWN ? grantedAt : Math.max(1, grantedAt - now);
        return Decision.deny(policy, permits, nothingAtOnce, retryAfter);
    }

    @Override
    public Projection<?> projection(long now) {
        return cells.projection(key, now);
    }

    private Decision denial(Reading reading, long permits) {
        return Decision.deny(policy, permits, quota(reading), reading.waitTicks());
    }

    private static Decision.Quota quota(Reading reading) {
        return new Decision.Quota(reading.limit(), reading.remaining(), reading.resetTicks());
    }
}
