package io.github.reactorratelimit.algorithm;

import static io.github.reactorratelimit.algorithm.ReferenceModel.big;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;

/** Refills one period after the other, as time passes them. */
final class StepwiseModel implements ReferenceModel {

    private final BigInteger capacity;
    private final BigInteger refill;
    private final long period;
    private final List<Long> refillPoints = new ArrayList<>();
    private BigInteger tokens;
    private boolean full = true;
    private long nextRefill;
    private long lastRefill;
    private BigInteger keepsGrid = BigInteger.ZERO;

    StepwiseModel(long capacity, long refill, long periodTicks) {
        this.capacity = big(capacity);
        this.refill = big(refill);
        this.period = periodTicks;
        this.tokens = this.capacity;
    }

    private void refill(long now) {
        while (!full && nextRefill <= now) {
            refillPoints.add(nextRefill);
            tokens = tokens.add(refill).min(capacity);
            lastRefill = nextRefill;
            nextRefill += period;
            keepsGrid = capacity.subtract(tokens);
            full = tokens.equals(capacity);
        }
    }

    @Override
    public boolean allows(long now, long permits) {
        refill(now);
        return tokens.compareTo(big(permits)) >= 0;
    }

    @Override
    public void debit(long now, long permits) {
        refill(now);
        if (full) {
            full = false;
            lastRefill = now;
            nextRefill = now + period;
            keepsGrid = BigInteger.ZERO;
        }
        if (now <= nextRefill - period) {
            keepsGrid = keepsGrid.add(big(permits));
        }
        tokens = tokens.subtract(big(permits));
    }

    @Override
    public void refund(long now, long debitedAt, long permits) {
        refill(now);
        BigInteger mostRefills = lastRefill <= debitedAt ? BigInteger.ZERO : big((now - debitedAt) / period + 2);
        BigInteger back = big(permits).subtract(mostRefills.multiply(refill)).max(BigInteger.ZERO);
        tokens = tokens.add(back).min(capacity);
        full = tokens.equals(capacity);
        if (!full && back.signum() > 0 && debitedAt <= nextRefill - period) {
            keepsGrid = keepsGrid.subtract(back);
            if (keepsGrid.signum() <= 0) {
                nextRefill = now + period;
                keepsGrid = capacity.subtract(tokens);
            }
        }
    }

    @Override
    public long remaining(long now) {
        refill(now);
        return tokens.longValueExact();
    }

    @Override
    public long retry(long now, long permits) {
        refill(now);
        BigInteger later = tokens;
        long point = nextRefill;
        for (later = later.add(refill); later.compareTo(big(permits)) < 0; later = later.add(refill)) {
            point += period;
        }
        return point - now;
    }

    @Override
    public long reset(long now) {
        refill(now);
        return full ? 0 : retry(now, capacity.longValueExact());
    }

    @Override
    public void checkWorstCase(List<Grant> grants) {
        for (int i = 1; i < refillPoints.size(); i++) {
            if (refillPoints.get(i) - refillPoints.get(i - 1) < period) {
                throw new AssertionError("refill points closer than a period: " + refillPoints);
            }
        }
        for (long window : new long[] {1, period, period + 1, 3 * period, 7 * period + 1}) {
            BigInteger most = capacity.add(refill.multiply(big(window / period + 1)));
            ReferenceModel.checkWindows(grants, window, most);
        }
    }
}
