package io.github.reactorratelimit.algorithm;

import static io.github.reactorratelimit.algorithm.ReferenceModel.big;

import java.math.BigInteger;
import java.util.List;

/** Permits out and permits back. */
final class ConcurrencyModel implements ReferenceModel {

    private final BigInteger max;
    private BigInteger taken = BigInteger.ZERO;
    private BigInteger returned = BigInteger.ZERO;

    ConcurrencyModel(long max) {
        this.max = big(max);
    }

    private BigInteger inFlight() {
        return taken.subtract(returned);
    }

    @Override
    public boolean allows(long now, long permits) {
        return inFlight().add(big(permits)).compareTo(max) <= 0;
    }

    @Override
    public void debit(long now, long permits) {
        taken = taken.add(big(permits));
    }

    @Override
    public void refund(long now, long debitedAt, long permits) {
        returned = returned.add(big(permits));
    }

    @Override
    public long remaining(long now) {
        return max.subtract(inFlight()).longValueExact();
    }

    @Override
    public long retry(long now, long permits) {
        return Algorithm.UNKNOWN;
    }

    @Override
    public long reset(long now) {
        return inFlight().signum() == 0 ? 0 : Algorithm.UNKNOWN;
    }

    @Override
    public void checkWorstCase(List<Grant> grants) {
        ReferenceModel.checkWindows(grants, Long.MAX_VALUE, max);
    }
}
