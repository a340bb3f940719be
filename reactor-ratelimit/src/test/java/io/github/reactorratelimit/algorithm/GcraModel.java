package io.github.reactorratelimit.algorithm;

import static io.github.reactorratelimit.algorithm.ReferenceModel.big;
import static io.github.reactorratelimit.algorithm.ReferenceModel.ceilDiv;

import java.math.BigInteger;
import java.util.List;

/**
 * The theoretical arrival time as a fraction over {@code permits}. With {@code queue} the leaky bucket: a
 * request leaves in the tick of its slot, whatever it asks for.
 */
final class GcraModel implements ReferenceModel {

    private final BigInteger perPeriod;
    private final BigInteger period;
    private final BigInteger burst;
    private final boolean queue;
    private BigInteger tatTimesPermits;

    GcraModel(long permits, long periodTicks, long burst, boolean queue, long start) {
        this.perPeriod = big(permits);
        this.period = big(periodTicks);
        this.burst = big(burst);
        this.queue = queue;
        this.tatTimesPermits = big(start).multiply(perPeriod);
    }

    private BigInteger scaled(long now) {
        return big(now).multiply(perPeriod);
    }

    private BigInteger early(long now) {
        return tatTimesPermits.subtract(scaled(now)).max(BigInteger.ZERO);
    }

    @Override
    public boolean allows(long now, long permits) {
        return queue
                ? early(now).compareTo(perPeriod) < 0
                : early(now).add(big(permits).multiply(period)).compareTo(burst.multiply(period)) <= 0;
    }

    @Override
    public void debit(long now, long permits) {
        tatTimesPermits = tatTimesPermits.max(scaled(now)).add(big(permits).multiply(period));
    }

    @Override
    public void refund(long now, long debitedAt, long permits) {
        BigInteger passed = scaled(now).subtract(scaled(debitedAt));
        BigInteger back = big(permits).multiply(period).subtract(passed).max(BigInteger.ZERO);
        tatTimesPermits = tatTimesPermits.subtract(back).max(scaled(now));
    }

    @Override
    public long remaining(long now) {
        if (queue) {
            return allows(now, 1) ? burst.longValueExact() : 0;
        }
        return ReferenceModel.floorDiv(burst.multiply(period).subtract(early(now)), period)
                .longValueExact();
    }

    @Override
    public long retry(long now, long permits) {
        if (queue) {
            return early(now).divide(perPeriod).longValueExact();
        }
        BigInteger tolerance = burst.subtract(big(permits)).multiply(period);
        return ceilDiv(early(now).subtract(tolerance), perPeriod).longValueExact();
    }

    @Override
    public long reset(long now) {
        return ceilDiv(early(now), perPeriod).longValueExact();
    }

    @Override
    public void checkWorstCase(List<Grant> grants) {
        if (queue) {
            checkSlots(grants);
            return;
        }
        long fill = burst.multiply(period).divide(perPeriod).longValueExact();
        for (long window : new long[] {1, 2, fill / 2 + 1, fill + 1, 3 * fill + 2}) {
            BigInteger most = burst.add(big(window).multiply(perPeriod).divide(period));
            ReferenceModel.checkWindows(grants, window, most);
        }
    }

    /** Between two departures lie the intervals of all that left from the first on, less a part of a tick. */
    private void checkSlots(List<Grant> grants) {
        for (int i = 0; i < grants.size(); i++) {
            BigInteger sum = BigInteger.ZERO;
            for (int j = i + 1; j < grants.size(); j++) {
                sum = sum.add(big(grants.get(j - 1).permits()));
                BigInteger apart = big(grants.get(j).at() - grants.get(i).at() + 1);
                if (sum.multiply(period).compareTo(apart.multiply(perPeriod)) >= 0) {
                    throw new AssertionError("departures at " + grants.get(i).at() + " and "
                            + grants.get(j).at() + " are too close");
                }
            }
        }
    }
}
