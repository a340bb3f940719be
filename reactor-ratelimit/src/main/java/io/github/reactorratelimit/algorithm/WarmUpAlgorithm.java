package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.Saturated;
import io.github.reactorratelimit.WarmUp;
import io.github.reactorratelimit.algorithm.RateArithmetic.Fraction;

/**
 * The warm-up. A tick at whose start permits are owed pays for them at the rate of the key's warmth, and
 * warms the key by a tick; any other tick cools it by one. A request passes in the tick in which the last
 * part is paid, so that fractions of a tick are not lost. A time before the last debit counts as the time of
 * that debit.
 *
 * <p>What others debit would warm a key that shares its state with them. So a shared state pays at the rate
 * of a cold key, and its warmth only tells how long a key alone could have stayed warm: when that is over all
 * of them are cold. A store that counts a debit later than it was requested leaves the key warm for longer,
 * within the worst case of the policy.
 *
 * @param interval that of a cold key: a permit's cost, and the parts that a tick of the first step pays; step
 *     n pays n times that
 * @param warmUpTicks ticks that a cold key takes to the full rate
 * @param isShared whether the state is, or was, that of several keys
 */
record WarmUpAlgorithm(WarmUp policy, Fraction interval, long warmUpTicks, boolean isShared)
        implements Algorithm<WarmUpAlgorithm.Pace> {

    /** Steps from cold to the full rate. */
    static final int STEPS = 16;

    private static final Pace COLD = new Pace(Long.MIN_VALUE, 0, 0);

    /**
     * What a key owes and how warm it is.
     *
     * @param at the time of which this is true
     * @param owedParts what is owed
     * @param warmTicks from 0, cold, to {@link #warmUpTicks}
     */
    record Pace(long at, long owedParts, long warmTicks) {}

    /** The rate of a cold key is a 16th of the full one. */
    static WarmUpAlgorithm of(WarmUp policy, Tick tick) {
        Fraction interval = Fraction.of(
                policy.permits(),
                policy.period().multipliedBy(STEPS),
                "permits",
                policy.permits(),
                tick,
                Long.MAX_VALUE);
        return new WarmUpAlgorithm(policy, interval, tick.ticks("warmUp", policy.warmUp()), false);
    }

    @Override
    public WarmUpAlgorithm shared() {
        return new WarmUpAlgorithm(policy, interval, warmUpTicks, true);
    }

    @Override
    public Pace fresh() {
        return COLD;
    }

    @Override
    public long waitTicks(Pace state, long now, long permits) {
        Pace current = at(state, now);
        long wait = ticksUntilFree(current);
        return wait == 0 ? 0 : Saturated.plus(Ticks.until(current.at, now), wait);
    }

    @Override
    public long[] toLongs(Pace state) {
        return new long[] {state.at, state.owedParts, state.warmTicks};
    }

    @Override
    public Pace ofLongs(long[] longs) {
        Ticks.requireLongs(3, longs);
        return new Pace(longs[0], longs[1], longs[2]);
    }

    @Override
    public Pace debit(Pace state, long now, long permits) {
        Pace current = at(state, now);
        long warm = isShared ? warmUpTicks : current.warmTicks;
        return new Pace(current.at, current.owedParts + costParts(permits), warm);
    }

    /** What is owed, as permits: what remains does not say it. */
    @Override
    public long chargeable(Pace state, long now, long maxDebt) {
        long free = Math.floorDiv(costParts(capacity()) - at(state, now).owedParts, interval.partsPerPermit());
        return Ticks.chargeable(free, maxDebt, 0);
    }

    @Override
    public long remaining(Pace state, long now) {
        Pace current = at(state, now);
        return current.owedParts < flow(current.warmTicks) ? capacity() : 0;
    }

    /** Until the key is cold: only then it answers like one that was never seen. */
    @Override
    public long resetTicks(Pace state, long now) {
        Pace current = at(state, now);
        if (current.equals(new Pace(current.at, 0, 0))) {
            return 0;
        }
        Pace paid = paid(current, Long.MAX_VALUE);
        return Saturated.plus(Ticks.until(current.at, now), (paid.at - current.at) + paid.warmTicks);
    }

    /**
     * Gives back the cost less all that a warm key could have paid since, and cools the key by all that the
     * debit could have warmed it: a tick that paid would have cooled it without the debit. So right after a
     * refund the key owes no less, and is no warmer, than without the debit.
     */
    @Override
    public Pace refund(Pace state, long now, long debitedAt, long permits) {
        Pace current = at(state, now);
        long elapsed = Ticks.until(current.at, debitedAt);
        long fullFlow = STEPS * interval.partsPerTick();
        if (elapsed >= Ticks.ceilDiv(costParts(permits), fullFlow)) {
            return state;
        }
        long back = costParts(permits) - elapsed * fullFlow;
        return new Pace(
                current.at, Math.max(0, current.owedParts - back), Math.max(0, current.warmTicks - 2 * elapsed));
    }

    private Pace at(Pace state, long now) {
        if (now <= state.at) {
            return state;
        }
        long elapsed = Ticks.until(now, state.at);
        Pace paid = paid(state, elapsed);
        long idle = elapsed - (paid.at - state.at);
        return new Pace(now, paid.owedParts, Math.max(0, paid.warmTicks - idle));
    }

    /** The state when all is paid, or after {@code most} ticks if that is earlier. */
    private Pace paid(Pace from, long most) {
        Pace free = free(from, most);
        boolean oneMore = free.owedParts > 0 && free.owedParts < flow(free.warmTicks) && free.at - from.at < most;
        return oneMore ? new Pace(free.at + 1, 0, Math.min(warmUpTicks, free.warmTicks + 1)) : free;
    }

    private long ticksUntilFree(Pace from) {
        return free(from, Long.MAX_VALUE).at - from.at;
    }

    /**
     * The state at the tick that pays the last part, or after {@code most} ticks if that is earlier: step by
     * step.
     */
    private Pace free(Pace from, long most) {
        long passed = 0;
        long owed = from.owedParts;
        long warm = from.warmTicks;
        while (true) {
            long flow = flow(warm);
            long ticks = Math.min(Math.min(owed / flow, most - passed), ticksToNextStep(warm));
            if (ticks == 0) {
                return new Pace(from.at + passed, owed, warm);
            }
            passed += ticks;
            owed -= ticks * flow;
            warm = Math.min(warmUpTicks, warm + ticks);
        }
    }

    /** Parts that a tick pays at this warmth. */
    private long flow(long warm) {
        return (step(warm) + 1) * interval.partsPerTick();
    }

    private long step(long warm) {
        return isShared ? 0 : Math.min(STEPS - 1, warm * STEPS / warmUpTicks);
    }

    private long ticksToNextStep(long warm) {
        long next = step(warm) + 1;
        return isShared || next == STEPS ? Long.MAX_VALUE : Ticks.ceilDiv(next * warmUpTicks, STEPS) - warm;
    }

    private long costParts(long permits) {
        return permits * interval.partsPerPermit();
    }
}
