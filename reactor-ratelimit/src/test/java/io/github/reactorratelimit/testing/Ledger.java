package io.github.reactorratelimit.testing;

import io.github.reactorratelimit.RateLimitRecorder;
import java.util.concurrent.atomic.LongAdder;

/** Counts what a limiter reserves and settles. */
public final class Ledger implements RateLimitRecorder {

    private final LongAdder reservations = new LongAdder();
    private final LongAdder settlements = new LongAdder();
    private final LongAdder settled = new LongAdder();
    private final LongAdder uncharged = new LongAdder();
    private final LongAdder lost = new LongAdder();

    /** Reservations that were not settled. */
    public long open() {
        return reservations.sum() - settlements.sum();
    }

    /** Reservations that were settled. */
    public long settlements() {
        return settlements.sum();
    }

    /** The sum of what was really spent. */
    public long settled() {
        return settled.sum();
    }

    /** Permits that were spent and not charged. */
    public long uncharged() {
        return uncharged.sum();
    }

    /** Permits that the store could not be told of. */
    public long lost() {
        return lost.sum();
    }

    @Override
    public void counted(Event event, long permits) {
        switch (event) {
            case RESERVED -> reservations.increment();
            case SETTLED -> {
                settlements.increment();
                settled.add(permits);
            }
            case UNCHARGED -> uncharged.add(permits);
            case REFUND_LOST, CHARGE_LOST -> lost.add(permits);
            default -> {}
        }
    }
}
