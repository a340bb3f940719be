package io.github.reactorratelimit.benchmarks.redis;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * One request in flight. If the decision arrives while {@code tryAcquire} still runs, the thread that
 * requested goes on; otherwise the thread that delivers the decision does. Only that thread touches the other
 * fields.
 */
final class Worker implements RedisLimiter.Receiver {

    /** {@code tryAcquire} has not returned. */
    private static final int REQUESTING = 0;

    /** {@code tryAcquire} has returned, the decision is pending. */
    private static final int PENDING = 1;

    /** The decision has arrived. */
    private static final int DECIDED = 2;

    private final Load load;
    private final RedisLimiter limiter;
    private final AtomicInteger state = new AtomicInteger();
    private long random;

    Worker(Load load, RedisLimiter limiter, int number) {
        this.load = load;
        this.limiter = limiter;
        this.random = 0x9E3779B97F4A7C15L * (number + 1);
    }

    /** Requests one permit. True if the decision has arrived, so that the caller goes on. */
    boolean request() {
        state.setRelease(REQUESTING);
        try {
            limiter.tryAcquire(nextKey(), this);
        } catch (RuntimeException | StackOverflowError e) {
            failed(e);
        }
        return !state.compareAndSet(REQUESTING, PENDING);
    }

    private int nextKey() {
        random ^= random << 13;
        random ^= random >>> 7;
        random ^= random << 17;
        return (int) (((random >>> 32) * load.keys()) >>> 32);
    }

    @Override
    public void decided(boolean allowed) {
        load.count(allowed);
        goOn();
    }

    @Override
    public void failed(Throwable reason) {
        load.fail(reason);
        goOn();
    }

    private void goOn() {
        if (state.getAndSet(DECIDED) == PENDING) {
            load.decidedLater(this);
        }
    }
}
