package io.github.reactorratelimit.algorithm;

import static io.github.reactorratelimit.algorithm.ReferenceModel.big;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;

/** A plain list of all grants whose window has not passed. */
final class SlidingLogModel implements ReferenceModel {

    private final BigInteger limit;
    private final long window;
    private final List<Grant> log = new ArrayList<>();

    SlidingLogModel(long limit, long windowTicks) {
        this.limit = big(limit);
        this.window = windowTicks;
    }

    private BigInteger usedAt(long now) {
        BigInteger sum = BigInteger.ZERO;
        for (Grant grant : log) {
            if (now - grant.at() < window) {
                sum = sum.add(big(grant.permits()));
            }
        }
        return sum;
    }

    @Override
    public boolean allows(long now, long permits) {
        return usedAt(now).add(big(permits)).compareTo(limit) <= 0;
    }

    @Override
    public void debit(long now, long permits) {
        log.removeIf(grant -> now - grant.at() >= window);
        log.add(new Grant(now, permits));
    }

    @Override
    public void refund(long now, long debitedAt, long permits) {
        log.remove(new Grant(debitedAt, permits));
    }

    @Override
    public long remaining(long now) {
        return limit.subtract(usedAt(now)).longValueExact();
    }

    @Override
    public long retry(long now, long permits) {
        for (Grant grant : log) {
            long leaves = grant.at() + window;
            if (leaves > now && allows(leaves, permits)) {
                return leaves - now;
            }
        }
        throw new AssertionError("never allowed");
    }

    @Override
    public long reset(long now) {
        return usedAt(now).signum() == 0 ? 0 : log.get(log.size() - 1).at() + window - now;
    }

    @Override
    public void checkWorstCase(List<Grant> grants) {
        ReferenceModel.checkWindows(grants, window, limit);
    }
}
