package io.github.reactorratelimit.local;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Projection;
import io.github.reactorratelimit.algorithm.Reading;
import io.github.reactorratelimit.waiting.Desk;

/** One key of a {@link LocalState} under one policy, as the lines see it. */
final class LocalDesk implements Desk {

    private final LocalState state;
    private final String key;
    private final RateLimitPolicy policy;

    LocalDesk(LocalState state, String key, RateLimitPolicy policy) {
        this.state = state;
        this.key = key;
        this.policy = policy;
    }

    @Override
    public long now() {
        return state.now();
    }

    /** Of now: another policy may rule by the next step. */
    private KeyTable table() {
        return state.table(key, policy);
    }

    @Override
    public RateLimitPolicy policy() {
        return state.reign().ruling(key, policy);
    }

    @Override
    public long pausedUntil() {
        return state.pausedUntil(key);
    }

    Decision evaluate(long permits) {
        long now = now();
        return state.mustWait(key, now) ? denyInLine(now, permits) : debitOnArrival(now, permits);
    }

    Decision peek(long permits) {
        long now = now();
        if (state.mustWait(key, now)) {
            return denyInLine(now, permits);
        }
        Reading reading = table().read(key, now, permits);
        return reading.allowed()
                ? Decision.wouldAllow(reading.policy(), permits, KeyTable.quota(reading))
                : KeyTable.denial(reading, permits);
    }

    @Override
    public long waitNanos(long at, long permits) {
        Reign seen = state.reign();
        return permits > seen.ruling(key, policy).capacity()
                ? Algorithm.UNKNOWN
                : state.table(seen, key, policy).waitTicks(key, at, permits);
    }

    @Override
    public Decision debit(long at, long permits) {
        Reign seen = state.reign();
        RateLimitPolicy ruling = seen.ruling(key, policy);
        if (permits > ruling.capacity()) {
            return deny(now(), permits, Algorithm.UNKNOWN);
        }
        Reading reading = state.table(seen, key, policy).debit(key, at, permits);
        if (!reading.allowed()) {
            return KeyTable.denial(reading, permits);
        }
        // Who was not seen by those who carried over what was spent pays again, under the policy that rules now.
        return state.reign() == seen
                ? Decision.allow(reading.policy(), KeyTable.quota(reading), new Debit(state, key, ruling, permits, at))
                : debit(at, permits);
    }

    @Override
    public Decision debitOnArrival(long now, long permits) {
        long slot = table().arrival(key, now);
        Decision decision = debit(slot, permits);
        if (slot == now) {
            return decision;
        }
        if (!decision.allowed()) {
            return debit(now, permits);
        }
        table().told(key, slot, () -> now);
        return decision;
    }

    @Override
    public void told(Debit debit) {
        table().told(key, debit.atTick(), state::now);
    }

    @Override
    public void refund(Debit debit) {
        state.giveBack(debit);
    }

    @Override
    public void undo(Debit debit) {
        state.putBack(key, debit.policy(), debit.permits(), debit.atTick());
    }

    Decision denyInLine(long now, long permits) {
        return deny(now, permits, state.grantedAt(key, this, now, permits));
    }

    @Override
    public Decision deny(long now, long permits, long grantedAt) {
        Reading reading = table().read(key, now, permits);
        Decision.Quota nothingAtOnce = new Decision.Quota(reading.limit(), 0, reading.resetTicks());
        long retryAfter = grantedAt == Algorithm.UNKNOWN ? grantedAt : Math.max(1, grantedAt - now);
        return Decision.deny(reading.policy(), permits, nothingAtOnce, retryAfter);
    }

    @Override
    public Projection<?> projection(long now) {
        return table().projection(key, now);
    }
}
