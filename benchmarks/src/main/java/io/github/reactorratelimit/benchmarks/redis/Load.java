package io.github.reactorratelimit.benchmarks.redis;

import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Keeps a number of requests in flight until a number of decisions has arrived. The next request is made on
 * the thread that delivers a decision. A worker whose decision arrives without a round trip moves to the
 * thread of {@link #run}, where such workers take turns: it would keep the connection's thread from reading,
 * or recurse.
 */
final class Load {

    private static final int DEEPEST = 32;
    private static final ThreadLocal<int[]> DEPTH = ThreadLocal.withInitial(() -> new int[1]);

    private final int keys;
    private final Worker[] workers;
    private final ConcurrentLinkedQueue<Worker> ready = new ConcurrentLinkedQueue<>();
    private final AtomicLong requestsLeft = new AtomicLong();
    private final LongAdder allowed = new LongAdder();
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    private volatile CountDownLatch running = new CountDownLatch(0);
    private volatile @Nullable Thread idle;

    /**
     * @param limiters take turns: two are like two instances of an application
     */
    Load(List<RedisLimiter> limiters, int keys, int inFlight) {
        this.keys = keys;
        this.workers = IntStream.range(0, inFlight)
                .mapToObj(number -> new Worker(this, limiters.get(number % limiters.size()), number))
                .toArray(Worker[]::new);
    }

    /** Permits granted since the start. */
    long allowed() {
        return allowed.sum();
    }

    void run(long requests) {
        requestsLeft.set(requests);
        running = new CountDownLatch(workers.length);
        ready.addAll(List.of(workers));
        long endNanos = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
        while (running.getCount() > 0 && failure.get() == null) {
            Worker next = ready.poll();
            if (next == null) {
                awaitReady();
            } else if (takeTurn(next)) {
                ready.add(next);
            }
            if (System.nanoTime() - endNanos > 0) {
                throw new IllegalStateException(running.getCount() + " requests got no decision");
            }
        }
        if (failure.get() != null) {
            throw new IllegalStateException("a request failed", failure.get());
        }
    }

    private void awaitReady() {
        idle = Thread.currentThread();
        if (ready.isEmpty() && running.getCount() > 0) {
            LockSupport.parkNanos(this, TimeUnit.MILLISECONDS.toNanos(10));
        }
        idle = null;
    }

    /** True if the worker can go on at once. */
    private boolean takeTurn(Worker worker) {
        if (requestsLeft.getAndDecrement() > 0) {
            return worker.request();
        }
        running.countDown();
        wake();
        return false;
    }

    private void wake() {
        Thread waiting = idle;
        if (waiting != null) {
            LockSupport.unpark(waiting);
        }
    }

    private void decidedLater(Worker worker) {
        int[] depth = DEPTH.get();
        boolean goesOn = true;
        if (depth[0] < DEEPEST) {
            depth[0]++;
            try {
                goesOn = takeTurn(worker);
            } finally {
                depth[0]--;
            }
        }
        if (goesOn) {
            ready.add(worker);
            wake();
        }
    }

    private void count(boolean wasAllowed) {
        if (wasAllowed) {
            allowed.increment();
        }
    }

    private void fail(Throwable reason) {
        failure.compareAndSet(null, reason);
    }

    /**
     * One request in flight. If the decision arrives while {@code tryAcquire} still runs, the thread that
     * requested goes on; otherwise the thread that delivers the decision does. Only that thread touches the other
     * fields.
     */
    private static final class Worker implements RedisLimiter.Receiver {

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
            return (int) (((random >>> 32) * load.keys) >>> 32);
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
}
