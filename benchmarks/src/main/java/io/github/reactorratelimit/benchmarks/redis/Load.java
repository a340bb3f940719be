package io.github.reactorratelimit.benchmarks.redis;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * Keeps a number of asks in flight and counts the answers.
 *
 * <p>An ask is made where the one before was answered, so a contender that answers on the thread of its connection is asked
 * there, and no thread is woken for it, unless answers already lie deep within answers: a contender that answers without a call what
 * is asked while it answers would recurse until the stack is full. Only a lane that is answered at once, without a round trip, moves to the thread of the
 * load: it would otherwise keep the connection's thread from reading what others wait for. There the lanes take turns.
 */
final class Load {

    private static final int LARGEST_MICROS = 100_000_000;
    private static final int DEEPEST = 32;

    /** Answers within answers on a thread. */
    private static final ThreadLocal<int[]> DEPTH = ThreadLocal.withInitial(() -> new int[1]);

    private final Target target;
    private final int keys;
    private final boolean alwaysMove;
    private final Lane[] lanes;
    private final Queue<Lane> moved = new ConcurrentLinkedQueue<>();
    private final CountDownLatch running;
    private final Thread thread = new Thread(this::drive, "load");
    private final Histogram latencyNanos = new ConcurrentHistogram(LARGEST_MICROS * 1_000L, 2);
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    private volatile boolean idle;
    private volatile boolean measuring;
    private volatile boolean ending;
    private volatile boolean abandoned;

    Load(Target target, int keys, int inFlight) {
        this(target, keys, inFlight, false);
    }

    /**
     * @param alwaysMove whether all asks are made by the thread of the load. Bucket4j recurses as long as it can answer without a call
     *     what is asked while it answers, until the stack is full
     */
    Load(Target target, int keys, int inFlight, boolean alwaysMove) {
        this.alwaysMove = alwaysMove;
        this.target = target;
        this.keys = keys;
        this.lanes = IntStream.range(0, inFlight)
                .mapToObj(number -> new Lane(this, number))
                .toArray(Lane[]::new);
        this.running = new CountDownLatch(inFlight);
    }

    /** Warms up, measures, and waits for the last answers; those that do not come are counted. Throws if an ask failed. */
    LoadResult run(LoadTimes times) throws InterruptedException {
        thread.setDaemon(true);
        thread.start();
        pass(times.warmUp());
        measuring = true;
        Totals before = Totals.of(lanes);
        pass(times.measured());
        Totals after = Totals.of(lanes);
        measuring = false;
        ending = true;
        LockSupport.unpark(thread);
        boolean allAnswered = running.await(RedisBench.PATIENCE.toSeconds(), TimeUnit.SECONDS);
        abandoned = true;
        if (failure.get() != null) {
            throw new IllegalStateException("an ask failed", failure.get());
        }
        return after.since(before, latencyNanos, allAnswered ? 0 : running.getCount());
    }

    private void pass(Duration time) throws InterruptedException {
        long endNanos = System.nanoTime() + time.toNanos();
        while (System.nanoTime() < endNanos && failure.get() == null) {
            TimeUnit.MILLISECONDS.sleep(Math.min(20, 1 + TimeUnit.NANOSECONDS.toMillis(endNanos - System.nanoTime())));
        }
    }

    private void drive() {
        Queue<Lane> ready = new ArrayDeque<>();
        for (Lane lane : lanes) {
            goOn(lane, ready);
        }
        while (running.getCount() > 0 && !abandoned) {
            for (Lane lane = moved.poll(); lane != null; lane = moved.poll()) {
                ready.add(lane);
            }
            Lane next = ready.poll();
            if (next == null) {
                awaitMoved();
            } else {
                goOn(next, ready);
            }
        }
    }

    private void goOn(Lane lane, Queue<Lane> ready) {
        if (ending) {
            running.countDown();
        } else if (lane.ask()) {
            ready.add(lane);
        }
    }

    private void awaitMoved() {
        idle = true;
        if (moved.isEmpty() && running.getCount() > 0) {
            LockSupport.parkNanos(this, TimeUnit.MILLISECONDS.toNanos(100));
        }
        idle = false;
    }

    /** Everything allowed since the start; final when {@link #run} has returned. */
    long allowed() {
        return Arrays.stream(lanes).mapToLong(Lane::allowed).sum();
    }

    void answeredLater(Lane lane) {
        if (ending) {
            running.countDown();
        } else if (alwaysMove || askHere(lane)) {
            moved.add(lane);
            if (idle) {
                LockSupport.unpark(thread);
            }
        }
    }

    /** True if the lane has to move on. */
    private static boolean askHere(Lane lane) {
        int[] depth = DEPTH.get();
        if (depth[0] >= DEEPEST) {
            return true;
        }
        depth[0]++;
        try {
            return lane.ask();
        } finally {
            depth[0]--;
        }
    }

    void took(long nanos) {
        if (measuring) {
            latencyNanos.recordValue(Math.min(nanos, LARGEST_MICROS * 1_000L));
        }
    }

    void failed(Throwable reason) {
        failure.compareAndSet(null, reason);
        ending = true;
    }

    Target target() {
        return target;
    }

    int keys() {
        return keys;
    }
}
