package io.github.reactorratelimit.algorithm;

import java.math.BigInteger;
import java.util.List;

/**
 * A policy written down from its definition, in unbounded integers and without regard for speed: what
 * the algorithms are compared with. Time never goes back here.
 */
interface ReferenceModel {

    boolean allows(long now, long permits);

    /** Takes permits, also where they are not allowed: the replay of a history without some of its debits needs it. */
    void debit(long now, long permits);

    void refund(long now, long debitedAt, long permits);

    /** Below 0 if more are spent. */
    long remaining(long now);

    /** Takes permits without asking, so that at most {@code maxDebt} are overdrawn: how many were not taken. */
    default long overdraw(long now, long permits, long maxDebt) {
        long taken = Math.max(0, Math.min(permits, remaining(now) + maxDebt));
        if (taken > 0) {
            debit(now, taken);
        }
        return permits - taken;
    }

    /** Ticks until {@link #allows}, asked while it does not. */
    long retry(long now, long permits);

    long reset(long now);

    /** Throws if grants, refunded ones left out, exceed what the design promises for any half-open window. */
    void checkWorstCase(List<Grant> grants);

    record Grant(long at, long permits) {}

    static BigInteger big(long value) {
        return BigInteger.valueOf(value);
    }

    static BigInteger ceilDiv(BigInteger dividend, BigInteger divisor) {
        BigInteger[] parts = dividend.divideAndRemainder(divisor);
        return parts[1].signum() > 0 ? parts[0].add(BigInteger.ONE) : parts[0];
    }

    static BigInteger floorDiv(BigInteger dividend, BigInteger divisor) {
        return ceilDiv(dividend.negate(), divisor).negate();
    }

    /** Throws if some half-open window of this length holds more than {@code most} permits. */
    static void checkWindows(List<Grant> grants, long window, BigInteger most) {
        for (int i = 0; i < grants.size(); i++) {
            BigInteger sum = BigInteger.ZERO;
            for (int j = i; j < grants.size() && grants.get(j).at - grants.get(i).at < window; j++) {
                sum = sum.add(big(grants.get(j).permits));
            }
            if (sum.compareTo(most) > 0) {
                throw new AssertionError(sum + " permits in a window of " + window + " ticks from " + grants.get(i).at
                        + ", at most " + most + " are promised");
            }
        }
    }
}
