package io.github.reactorratelimit.algorithm;

import static io.github.reactorratelimit.algorithm.ReferenceModel.big;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;

/** The permits of the window that the first request opened; none are left when it has ended. */
final class FirstRequestModel implements ReferenceModel {

    private final BigInteger limit;
    private final long length;
    private final List<Grant> inWindow = new ArrayList<>();
    private long start;
    private long phase;

    FirstRequestModel(long limit, long length) {
        this.limit = big(limit);
        this.length = length;
    }

    private BigInteger usedAt(long now) {
        if (now >= phase + length) {
            inWindow.clear();
        }
        return inWindow.stream().map(grant -> big(grant.permits())).reduce(BigInteger.ZERO, BigInteger::add);
    }

    @Override
    public boolean allows(long now, long permits) {
        return usedAt(now).add(big(permits)).compareTo(limit) <= 0;
    }

    @Override
    public void debit(long now, long permits) {
        if (usedAt(now).signum() == 0) {
            start = now;
            phase = now;
        }
        inWindow.add(new Grant(now, permits));
    }

    @Override
    public void refund(long now, long debitedAt, long permits) {
        usedAt(now);
        if (debitedAt < start || !inWindow.remove(new Grant(debitedAt, permits))) {
            return;
        }
        if (debitedAt <= phase && inWindow.stream().noneMatch(grant -> grant.at() <= phase)) {
            phase = now;
            start = Math.max(start, now - length);
        }
    }

    @Override
    public long remaining(long now) {
        return limit.subtract(usedAt(now)).longValueExact();
    }

    @Override
    public long retry(long now, long permits) {
        return phase + length - now;
    }

    @Override
    public long reset(long now) {
        return usedAt(now).signum() == 0 ? 0 : phase + length - now;
    }

    @Override
    public void checkWorstCase(List<Grant> grants) {
        ReferenceModel.checkWindows(grants, length, limit.shiftLeft(1));
    }
}
