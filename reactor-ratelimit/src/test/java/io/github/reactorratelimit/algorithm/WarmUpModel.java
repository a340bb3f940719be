package io.github.reactorratelimit.algorithm;

import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * The warm-up tick by tick. A permit costs {@code 16 * period} and a tick pays {@code permits} for each step: nothing is
 * reduced, and no tick is skipped but those of a cold key that owes nothing.
 */
final class WarmUpModel implements ReferenceModel {

    private static final int STEPS = 16;

    private final long permits;
    private final long cost;

    /** What a tick pays at each warmth. */
    private final long[] flows;

    private long time;
    private long owed;
    private int warmth;
    private boolean refunded;

    WarmUpModel(long permits, long periodTicks, long warmUpTicks, long start) {
        this.permits = permits;
        this.cost = STEPS * periodTicks;
        this.flows = new long[Math.toIntExact(warmUpTicks) + 1];
        for (int warm = 0; warm < flows.length; warm++) {
            int step = 1;
            while (step < STEPS && (long) warm * STEPS >= step * warmUpTicks) {
                step++;
            }
            flows[warm] = step * permits;
        }
        this.time = start;
    }

    private void tick() {
        if (owed > 0) {
            owed = Math.max(0, owed - flows[warmth]);
            warmth = Math.min(flows.length - 1, warmth + 1);
        } else {
            warmth = Math.max(0, warmth - 1);
        }
        time++;
    }

    private void advanceTo(long now) {
        while (time < now && !isCold()) {
            tick();
        }
        time = Math.max(time, now);
    }

    private boolean isCold() {
        return owed == 0 && warmth == 0;
    }

    private boolean isFree() {
        return owed < flows[warmth];
    }

    /** How many ticks this takes from {@code now} on; then everything is as before. */
    private long ticksUntil(long now, BooleanSupplier reached) {
        advanceTo(now);
        long owedBefore = owed;
        int warmthBefore = warmth;
        while (!reached.getAsBoolean()) {
            tick();
        }
        long ticks = time - now;
        time = now;
        owed = owedBefore;
        warmth = warmthBefore;
        return ticks;
    }

    @Override
    public boolean allows(long now, long permits) {
        advanceTo(now);
        return isFree();
    }

    @Override
    public void debit(long now, long permits) {
        advanceTo(now);
        owed += permits * cost;
    }

    @Override
    public void refund(long now, long debitedAt, long permits) {
        advanceTo(now);
        refunded = true;
        long back = permits * cost - (now - debitedAt) * STEPS * this.permits;
        if (back > 0) {
            owed = Math.max(0, owed - back);
            warmth = (int) Math.max(0, warmth - 2 * (now - debitedAt));
        }
    }

    @Override
    public long remaining(long now) {
        return allows(now, 1) ? permits : 0;
    }

    @Override
    public long retry(long now, long permits) {
        return ticksUntil(now, this::isFree);
    }

    @Override
    public long reset(long now) {
        return ticksUntil(now, this::isCold);
    }

    /** All permits but those of the last request have been paid, at the full rate at most; those of a cold key step by step. */
    @Override
    public void checkWorstCase(List<Grant> grants) {
        for (int first = 0; first < grants.size(); first++) {
            long paid = 0;
            for (int last = first + 1; last < grants.size(); last++) {
                paid += grants.get(last - 1).permits() * cost;
                long ticks = grants.get(last).at() - grants.get(first).at() + 1;
                long most = first == 0 && !refunded ? flowOfACold(ticks) : ticks * STEPS * permits;
                if (paid > most) {
                    throw new AssertionError(paid + " parts in " + ticks + " ticks from "
                            + grants.get(first).at() + ", at most " + most + " are promised");
                }
            }
        }
    }

    private long flowOfACold(long ticks) {
        long sum = 0;
        int warm = 0;
        for (long tick = 0; tick < ticks && warm < flows.length - 1; tick++) {
            sum += flows[warm++];
        }
        return sum + Math.max(0, ticks - (flows.length - 1)) * STEPS * permits;
    }
}
