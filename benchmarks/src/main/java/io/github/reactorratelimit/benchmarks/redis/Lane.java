package io.github.reactorratelimit.benchmarks.redis;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * One ask in flight: asks again when answered. Where it is answered while its ask is still running, the asker goes on; where it is answered
 * later, the thread that answers does. The state says which of the two was first, so that one of them goes on. Only who goes on
 * touches the other fields.
 */
final class Lane implements Answer {

    /** The ask has not returned. */
    private static final int ASKING = 0;
    /** The ask has returned, the answer is to come. */
    private static final int PENDING = 1;
    /** The answer came. */
    private static final int ANSWERED = 2;

    /** One in so many asks is timed: reading the clock costs as much as a decision made in memory. */
    private static final int TIMED = 8;

    private final Load load;
    private final AtomicInteger state = new AtomicInteger();
    private final AtomicLong decided = new AtomicLong();
    private final AtomicLong allowed = new AtomicLong();
    private long random;
    private int untilTimed;
    private long askedNanos;

    Lane(Load load, int number) {
        this.load = load;
        this.random = 0x9E3779B97F4A7C15L * (number + 1);
        this.untilTimed = number % TIMED;
    }

    long decided() {
        return decided.getOpaque();
    }

    long allowed() {
        return allowed.getOpaque();
    }

    /** Asks once. True if the answer is there: the caller goes on. */
    boolean ask() {
        if (--untilTimed < 0) {
            untilTimed = TIMED - 1;
            askedNanos = System.nanoTime();
        }
        state.setRelease(ASKING);
        load.target().ask(nextKey(), 1, this);
        return !state.compareAndSet(ASKING, PENDING);
    }

    private int nextKey() {
        random ^= random << 13;
        random ^= random >>> 7;
        random ^= random << 17;
        return (int) (((random >>> 32) * load.keys()) >>> 32);
    }

    @Override
    public void decided(boolean yes) {
        if (untilTimed == TIMED - 1) {
            load.took(System.nanoTime() - askedNanos);
        }
        decided.setOpaque(decided.getPlain() + 1);
        if (yes) {
            allowed.setOpaque(allowed.getPlain() + 1);
        }
        answered();
    }

    @Override
    public void failed(Throwable reason) {
        load.failed(reason);
        answered();
    }

    private void answered() {
        if (state.getAndSet(ANSWERED) == PENDING) {
            load.answeredLater(this);
        }
    }
}
