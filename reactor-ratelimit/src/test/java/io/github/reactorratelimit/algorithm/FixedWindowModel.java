package io.github.reactorratelimit.algorithm;

import static io.github.reactorratelimit.algorithm.ReferenceModel.big;

import java.math.BigInteger;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongFunction;

/** A count for every window there ever was. */
final class FixedWindowModel implements ReferenceModel {

    record Bounds(long start, long end) {}

    private final BigInteger limit;
    private final LongFunction<Bounds> windows;
    private final long length;
    private final Map<Bounds, BigInteger> used = new HashMap<>();

    FixedWindowModel(long limit, LongFunction<Bounds> windows, long length) {
        this.limit = big(limit);
        this.windows = windows;
        this.length = length;
    }

    /** Epoch-aligned windows. */
    static LongFunction<Bounds> epoch(long length, long offset) {
        return now -> {
            BigInteger index = ReferenceModel.floorDiv(big(now).add(big(offset)), big(length));
            long start = index.multiply(big(length)).subtract(big(offset)).longValueExact();
            return new Bounds(start, start + length);
        };
    }

    private BigInteger usedAt(long now) {
        return used.getOrDefault(windows.apply(now), BigInteger.ZERO);
    }

    @Override
    public boolean allows(long now, long permits) {
        return usedAt(now).add(big(permits)).compareTo(limit) <= 0;
    }

    @Override
    public void debit(long now, long permits) {
        used.merge(windows.apply(now), big(permits), BigInteger::add);
    }

    @Override
    public void refund(long now, long debitedAt, long permits) {
        Bounds window = windows.apply(now);
        if (window.equals(windows.apply(debitedAt))) {
            used.put(window, usedAt(now).subtract(big(permits)).max(BigInteger.ZERO));
        }
    }

    @Override
    public long remaining(long now) {
        return limit.subtract(usedAt(now)).longValueExact();
    }

    @Override
    public long retry(long now, long permits) {
        return windows.apply(now).end - now;
    }

    @Override
    public long reset(long now) {
        return usedAt(now).signum() == 0 ? 0 : windows.apply(now).end - now;
    }

    @Override
    public void checkWorstCase(List<Grant> grants) {
        ReferenceModel.checkWindows(grants, length, limit.shiftLeft(1));
        Map<Bounds, BigInteger> net = new HashMap<>();
        grants.forEach(grant -> net.merge(windows.apply(grant.at()), big(grant.permits()), BigInteger::add));
        net.forEach((window, permits) -> {
            if (permits.compareTo(limit) > 0) {
                throw new AssertionError(permits + " permits in " + window);
            }
        });
    }
}
