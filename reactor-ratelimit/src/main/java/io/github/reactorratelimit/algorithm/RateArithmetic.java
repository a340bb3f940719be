package io.github.reactorratelimit.algorithm;

import java.math.BigInteger;
import java.time.Duration;

/**
 * The arithmetic of a rate. An interval of {@code period / permits} ticks is a fraction, so what a key owes
 * is counted in <em>parts</em> of a tick: {@code partsPerTick} flow back each tick, a permit costs {@code
 * partsPerPermit}. The fraction is reduced and exact, unless the capacity in parts would not stay below
 * {@link Tick#exactBelow()}: then a coarser one is taken, rounded to the longer interval, which must keep the
 * rate within 0.1 %.
 *
 * <p>The deficit after a debit never exceeds {@link #mostParts}, but for a debt that was charged. At an
 * earlier time it does, by the flow until the debit: both times name the same end of a wait. Twin of
 * level.lua: change both, or neither.
 */
abstract class RateArithmetic {

    /** Up to here a time in parts is held in one long, see {@link PackedDeficitAlgorithm}. */
    static final long MAX_PACKED_PARTS_PER_TICK = 64;

    /** Deficits end here instead of overflowing: above all that can be owed, by years of flow. */
    private static final long ENDLESS_PARTS = 1L << 62;

    /** The rate is kept to one part in so many. */
    static final long INVERSE_TOLERANCE = 1_000;

    final long capacity;
    final long partsPerTick;
    final long partsPerPermit;
    final long capacityParts;
    /** The most a key can owe. */
    final long mostParts;

    private final long fillTicks;

    /** Deficits stay below this. */
    private final long exactBelow;

    /** @param slackParts what may still be owed when a permit passes that is not counted in the capacity */
    RateArithmetic(Fraction interval, long capacity, long slackParts) {
        this.capacity = capacity;
        this.partsPerTick = interval.partsPerTick();
        this.partsPerPermit = interval.partsPerPermit();
        this.capacityParts = capacity * partsPerPermit;
        this.mostParts = capacityParts + slackParts;
        this.fillTicks = Ticks.ceilDiv(mostParts, partsPerTick);
        this.exactBelow = interval.exactBelow();
    }

    /** How far a deficit is above what would let these permits pass; 0 or less if they pass. */
    abstract long excessParts(long deficitParts, long permits);

    /** The most permits that pass. */
    abstract long remaining(long deficitParts);

    /** See {@link Algorithm#isAdditive}. */
    abstract boolean isAdditive(long most);

    /**
     * How many permits may be charged on top of a deficit, see {@link Algorithm#chargeable}; it stays below
     * {@code below}.
     */
    final long chargeable(long deficitParts, long maxDebt, long below) {
        long exactDebt = (Math.min(exactBelow, below) - 1 - capacityParts - 2 * partsPerTick) / partsPerPermit;
        return Ticks.chargeable(Math.floorDiv(capacityParts - deficitParts, partsPerPermit), maxDebt, exactDebt);
    }

    final long costParts(long permits) {
        return permits * partsPerPermit;
    }

    /**
     * Rounded up: a tick too early is a tick too lax. Most intervals are whole ticks and need no division.
     */
    final long ticks(long parts) {
        return partsPerTick == 1 ? parts : Ticks.ceilDiv(parts, partsPerTick);
    }

    final long waitTicks(long deficitParts, long permits) {
        return ticks(Math.max(0, excessParts(deficitParts, permits)));
    }

    /** What is owed at {@code now} if {@code parts} were owed at {@code at}. */
    final long deficitParts(long at, long parts, long now) {
        if (now >= at) {
            long elapsed = Ticks.until(now, at);
            return elapsed >= ticks(parts) ? 0 : parts - elapsed * partsPerTick;
        }
        long early = Ticks.until(at, now);
        return early > (ENDLESS_PARTS - parts) / partsPerTick ? ENDLESS_PARTS : parts + early * partsPerTick;
    }

    /**
     * What a refund gives back: the cost less all that may have flowed back since. Compare the deficit
     * with and without the debit, the later debits being the same: the difference starts at the cost and
     * shrinks only while the deficit without it is 0 and the other is not, by {@code partsPerTick} each
     * tick. So after {@code elapsed} ticks it is still at least what is given back here, and the deficit
     * does not fall below the one without the debit. From there the argument repeats for other refunds.
     */
    final long refundParts(long now, long debitedAt, long permits) {
        return Math.max(0, costParts(permits) - flowParts(Ticks.until(now, debitedAt)));
    }

    /**
     * What flows back in that many ticks, cut off where nothing can be owed any more; less than a tick's
     * parts above the most.
     */
    private long flowParts(long ticks) {
        return Math.min(ticks, fillTicks) * partsPerTick;
    }

    /**
     * An interval: {@code partsPerPermit / partsPerTick} ticks.
     *
     * @param partsPerPermit the numerator
     * @param partsPerTick the denominator
     * @param exactBelow where products end to be exact
     */
    record Fraction(long partsPerPermit, long partsPerTick, long exactBelow) {

        /**
         * The interval of {@code permits} per {@code period}.
         *
         * @param name the policy's name for the capacity, for the error
         * @param mostPartsPerTick an interval that would need more is rounded up
         */
        static Fraction of(
                long permits, Duration period, String name, long capacity, Tick tick, long mostPartsPerTick) {
            BigInteger ticks = BigInteger.valueOf(tick.ticks("period", period));
            BigInteger perPeriod = BigInteger.valueOf(permits);
            BigInteger common = ticks.gcd(perPeriod);
            BigInteger mostCost = BigInteger.valueOf(tick.exactBelow() / capacity - 1);
            BigInteger finest = BigInteger.valueOf(mostPartsPerTick);
            BigInteger[] candidates = {
                perPeriod.divide(common).min(finest),
                BigInteger.valueOf(MAX_PACKED_PARTS_PER_TICK),
                mostCost.multiply(perPeriod).divide(ticks).min(finest)
            };
            for (BigInteger parts : candidates) {
                BigInteger cost = ceilDiv(parts.multiply(ticks), perPeriod);
                if (fits(parts, cost, capacity, tick) && accurate(parts, cost, ticks, perPeriod)) {
                    return new Fraction(cost.longValueExact(), parts.longValueExact(), tick.exactBelow());
                }
            }
            throw new IllegalArgumentException(name + " " + capacity + " at " + permits + " per " + period
                    + " cannot be counted to 0.1 % in steps of one " + tick + "; lower it");
        }

        private static boolean fits(BigInteger parts, BigInteger cost, long capacity, Tick tick) {
            BigInteger largest = cost.multiply(BigInteger.valueOf(capacity)).add(parts.shiftLeft(1));
            return largest.compareTo(BigInteger.valueOf(tick.exactBelow())) < 0;
        }

        private static boolean accurate(BigInteger parts, BigInteger cost, BigInteger ticks, BigInteger perPeriod) {
            BigInteger exact = parts.multiply(ticks);
            BigInteger surplus = cost.multiply(perPeriod).subtract(exact);
            return parts.signum() > 0
                    && surplus.multiply(BigInteger.valueOf(INVERSE_TOLERANCE)).compareTo(exact) <= 0;
        }

        private static BigInteger ceilDiv(BigInteger dividend, BigInteger divisor) {
            return dividend.add(divisor).subtract(BigInteger.ONE).divide(divisor);
        }
    }
}
