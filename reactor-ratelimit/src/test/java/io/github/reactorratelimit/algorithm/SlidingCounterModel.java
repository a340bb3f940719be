package io.github.reactorratelimit.algorithm;

import static io.github.reactorratelimit.algorithm.ReferenceModel.big;

import java.math.BigInteger;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A count for every window there ever was; what a window still weighs is a fraction. */
final class SlidingCounterModel implements ReferenceModel {

    private final BigInteger limit;
    private final BigInteger window;
    private final BigInteger offset;
    private final Map<BigInteger, BigInteger> used = new HashMap<>();

    SlidingCounterModel(long limit, long windowTicks, long epochOffset) {
        this.limit = big(limit);
        this.window = big(windowTicks);
        this.offset = big(epochOffset);
    }

    private BigInteger indexOf(long now) {
        return ReferenceModel.floorDiv(big(now).add(offset), window);
    }

    private BigInteger usedIn(BigInteger index) {
        return used.getOrDefault(index, BigInteger.ZERO);
    }

    private BigInteger estimate(long now) {
        BigInteger index = indexOf(now);
        BigInteger elapsed = big(now).add(offset).subtract(index.multiply(window));
        BigInteger weightTimesWindow = usedIn(index.subtract(BigInteger.ONE)).multiply(window.subtract(elapsed));
        return ReferenceModel.floorDiv(weightTimesWindow, window).add(usedIn(index));
    }

    @Override
    public boolean allows(long now, long permits) {
        return estimate(now).add(big(permits)).compareTo(limit) <= 0;
    }

    @Override
    public void debit(long now, long permits) {
        used.merge(indexOf(now), big(permits), BigInteger::add);
    }

    @Override
    public void refund(long now, long debitedAt, long permits) {
        if (indexOf(now).equals(indexOf(debitedAt))) {
            used.put(indexOf(now), usedIn(indexOf(now)).subtract(big(permits)).max(BigInteger.ZERO));
        }
    }

    @Override
    public long remaining(long now) {
        return limit.subtract(estimate(now)).longValueExact();
    }

    /** Computed as a fraction, and then held against the definition: a tick earlier it does not allow. */
    @Override
    public long retry(long now, long permits) {
        BigInteger index = indexOf(now);
        for (int window = 0; window <= 2; window++) {
            long at = turnIn(index.add(big(window)), permits);
            if (at > now && allows(at, permits) && !allows(at - 1, permits)) {
                return at - now;
            }
        }
        throw new AssertionError("never allowed");
    }

    /** Where in a window the weight of the one before has fallen below a whole permit too many; its start if at once or never. */
    private long turnIn(BigInteger index, long permits) {
        BigInteger previous = usedIn(index.subtract(BigInteger.ONE));
        BigInteger room = limit.subtract(usedIn(index)).subtract(big(permits));
        if (previous.signum() == 0 || room.signum() < 0 || room.compareTo(previous) >= 0) {
            return startOf(index);
        }
        BigInteger enough = room.add(BigInteger.ONE);
        BigInteger elapsed = ReferenceModel.floorDiv(previous.subtract(enough).multiply(window), previous);
        return startOf(index) + elapsed.add(BigInteger.ONE).longValueExact();
    }

    @Override
    public long reset(long now) {
        long all = limit.longValueExact();
        return allows(now, all) ? 0 : retry(now, all);
    }

    private long startOf(BigInteger index) {
        return index.multiply(window).subtract(offset).longValueExact();
    }

    @Override
    public void checkWorstCase(List<Grant> grants) {
        ReferenceModel.checkWindows(grants, window.longValueExact(), limit.shiftLeft(1));
    }
}
