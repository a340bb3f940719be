package io.github.reactorratelimit.algorithm;

import static io.github.reactorratelimit.algorithm.ReferenceModel.big;
import static io.github.reactorratelimit.algorithm.ReferenceModel.ceilDiv;

import java.math.BigInteger;
import java.util.List;

/** Tokens as a fraction over the period: each tick adds {@code refill / period} of a token, up to the capacity. */
final class TokenBucketModel implements ReferenceModel {

    private final BigInteger capacity;
    private final BigInteger refill;
    private final BigInteger period;
    private BigInteger tokensTimesPeriod;
    private BigInteger time;

    TokenBucketModel(long capacity, long refill, long periodTicks, long initialTokens, long start) {
        this.capacity = big(capacity);
        this.refill = big(refill);
        this.period = big(periodTicks);
        this.tokensTimesPeriod = big(initialTokens).multiply(period);
        this.time = big(start);
    }

    private void refill(long now) {
        BigInteger elapsed = big(now).subtract(time);
        tokensTimesPeriod = tokensTimesPeriod.add(elapsed.multiply(refill)).min(capacity.multiply(period));
        time = big(now);
    }

    @Override
    public boolean allows(long now, long permits) {
        refill(now);
        return tokensTimesPeriod.compareTo(big(permits).multiply(period)) >= 0;
    }

    @Override
    public void debit(long now, long permits) {
        refill(now);
        tokensTimesPeriod = tokensTimesPeriod.subtract(big(permits).multiply(period));
    }

    @Override
    public void refund(long now, long debitedAt, long permits) {
        refill(now);
        BigInteger refilledSince = big(now).subtract(big(debitedAt)).multiply(refill);
        BigInteger back = big(permits).multiply(period).subtract(refilledSince).max(BigInteger.ZERO);
        tokensTimesPeriod = tokensTimesPeriod.add(back).min(capacity.multiply(period));
    }

    @Override
    public long remaining(long now) {
        refill(now);
        return ReferenceModel.floorDiv(tokensTimesPeriod, period).longValueExact();
    }

    @Override
    public long retry(long now, long permits) {
        refill(now);
        return ceilDiv(big(permits).multiply(period).subtract(tokensTimesPeriod), refill)
                .longValueExact();
    }

    @Override
    public long reset(long now) {
        refill(now);
        return ceilDiv(capacity.multiply(period).subtract(tokensTimesPeriod), refill)
                .longValueExact();
    }

    @Override
    public void checkWorstCase(List<Grant> grants) {
        long fill = capacity.multiply(period).divide(refill).longValueExact();
        for (long window : new long[] {1, 2, fill / 2 + 1, fill + 1, 3 * fill + 2}) {
            BigInteger most = capacity.add(big(window).multiply(refill).divide(period));
            ReferenceModel.checkWindows(grants, window, most);
        }
    }
}
