package io.github.reactorratelimit.local;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Projection;
import io.github.reactorratelimit.algorithm.Reading;
import io.github.reactorratelimit.queue.ImmediateKey;
import io.github.reactorratelimit.queue.QueuedKey;
import org.jspecify.annotations.Nullable;

/** One key of a limiter, as its queue sees it. */
final class LocalKey implements ImmediateKey {

    /** The state of the limiter. */
    interface Keys {

        long now();

        /** The version that decides for a key now. */
        PolicyVersion version(@Nullable RateLimitPolicy override);

        /** Whether a version still decides for a key: that of an override always does. */
        boolean isInEffect(PolicyVersion version, @Nullable RateLimitPolicy override);

        long pausedUntil(String key);

        /** Whether the key is paused or has waiters. */
        boolean mustWait(String key, long now);

        long grantedAt(LocalKey queued, long now, long permits);

        /** Gives a debit back. False if its policy was replaced: the spend has been carried over. */
        boolean giveBack(Debit debit);

        /** {@link #giveBack} without rescheduling the waiters. */
        boolean putBack(Debit debit);
    }

    private final Keys state;
    private final String key;
    private final @Nullable RateLimitPolicy override;

    LocalKey(Keys state, String key, @Nullable RateLimitPolicy override) {
        this.state = state;
        this.key = key;
        this.override = override;
    }

    @Override
    public String key() {
        return key;
    }

    @Override
    public long now() {
        return state.now();
    }

    /** Of now: another policy may be in effect at the next step. */
    private PolicyVersion version() {
        return state.version(override);
    }

    @Override
    public RateLimitPolicy policy() {
        return version().policy;
    }

    @Override
    public boolean catchesUp() {
        return version().catchesUp;
    }

    @Override
    public long pausedUntil() {
        return state.pausedUntil(key);
    }

    Decision peek(long permits) {
        long now = now();
        if (state.mustWait(key, now)) {
            return denyBehindWaiters(now, permits);
        }
        Reading reading = version().table.read(key, now, permits);
        return reading.allowed()
                ? Decision.wouldAllow(reading.policy(), permits, KeyTable.quota(reading))
                : KeyTable.denial(reading, permits);
    }

    @Override
    public long waitNanos(long at, long permits) {
        PolicyVersion seen = version();
        return permits > seen.capacity ? Algorithm.UNKNOWN : seen.table.waitTicks(key, at, permits);
    }

    @Override
    public Decision debit(long at, long permits) {
        PolicyVersion seen = version();
        if (permits > seen.capacity) {
            return deny(now(), permits, Algorithm.UNKNOWN);
        }
        Decision decision = seen.table.debit(seen, seen.policy, key, at, permits);
        // The keys may have been carried over without this debit: then it is made again, under the policy in effect
        // now.
        return !decision.allowed() || state.isInEffect(seen, override) ? decision : debit(at, permits);
    }

    @Override
    public void refund(Debit debit) {
        state.giveBack(debit);
    }

    @Override
    public void undo(Debit debit) {
        state.putBack(debit);
    }

    Decision denyBehindWaiters(long now, long permits) {
        return deny(now, permits, state.grantedAt(this, now, permits));
    }

    @Override
    public Decision deny(long now, long permits, long grantedAt) {
        Reading reading = version().table.read(key, now, permits);
        Decision.Quota nothingAtOnce = new Decision.Quota(reading.limit(), 0, reading.resetTicks());
        return Decision.deny(reading.policy(), permits, nothingAtOnce, QueuedKey.retryAfter(now, grantedAt));
    }

    @Override
    public Projection<?> projection(long now) {
        return version().table.projection(key, now);
    }
}
