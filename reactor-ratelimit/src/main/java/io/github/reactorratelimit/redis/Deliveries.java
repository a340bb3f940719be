package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.queue.DrainLoop;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Scheduler;

/**
 * Brings answers to those who asked, on the scheduler for callbacks, many in one task: a task for each would cost more than the
 * answer. The answers of a call come as one {@link Bundle}, from which tasks take one after the other. One task is at work while that
 * suffices: where it is behind when the watch looks, another joins it, up to one for each processor.
 *
 * <p>A subscriber may take long, or even wait for what another one of the same call does. So what lies behind it must not wait
 * for it: a bundle stays in the queue, where others take from it too, until it is empty; and while something is ready and nothing moves from
 * one look of the watch to the next, one more task begins, without limit.
 *
 * <p>Nothing is left lying: {@code ready} is filled before {@code active} is read, and a task that found it empty counts itself
 * out of {@code active} before it looks once more. So of the one who fills and the one who leaves at least one sees the other.
 */
final class Deliveries {

    private static final int READY_FOR_ONE_TASK = 64;
    private static final int MOST_IN_A_RUN = 256;
    private static final long WATCH_MILLIS = 1;

    /** Subscribers that take longer are shared out among several tasks. */
    private static final long SLOW_NANOS = 10_000;

    private static final int TIMED_TOGETHER = 4;
    private static final int MAX_TASKS = Runtime.getRuntime().availableProcessors();

    /** Of the task that this thread runs. */
    private static final ThreadLocal<@Nullable Cork> CORK = new ThreadLocal<>();

    /** What became ready together. Each is taken once, by whichever task comes first. */
    interface Bundle {

        /** The next one, which is the caller's; null if all are taken. */
        @Nullable
        Runnable take();

        /** The one that would be taken next. */
        @Nullable
        Runnable first();

        /** How many there were. */
        int size();
    }

    /** A bundle of one. */
    private static final class Single extends AtomicReference<@Nullable Runnable> implements Bundle {

        private static final long serialVersionUID = 1L;

        Single(Runnable delivery) {
            super(delivery);
        }

        @Override
        public @Nullable Runnable take() {
            return get() == null ? null : getAndSet(null);
        }

        @Override
        public @Nullable Runnable first() {
            return get();
        }

        @Override
        public int size() {
            return 1;
        }
    }

    private final Scheduler callbacks;
    private final Scheduler timer;
    private final Queue<Bundle> ready = new ConcurrentLinkedQueue<>();

    /** Tasks that are at work or about to be. */
    private final AtomicInteger active = new AtomicInteger();

    /** Tasks that were scheduled and have not begun. */
    private final AtomicInteger toBegin = new AtomicInteger();

    /** Of the tasks that are at work. */
    private final Set<Cork> corks = ConcurrentHashMap.newKeySet();

    private final AtomicBoolean watched = new AtomicBoolean();

    Deliveries(Scheduler callbacks, Scheduler timer) {
        this.callbacks = callbacks;
        this.timer = timer;
    }

    /** Something that is ready now; {@link #deliver} follows. */
    void add(Runnable delivery) {
        ready.offer(new Single(delivery));
    }

    /** What is ready now; {@link #deliver} follows. */
    void add(Bundle bundle) {
        ready.offer(bundle);
    }

    /** What was added is delivered soon. */
    void deliver(int added) {
        boolean alone = active.get() == 0 && active.compareAndSet(0, 1);
        if (alone) {
            start();
        }
        if (!alone || added > 1) {
            watch();
        }
    }

    /** What was added is delivered on this thread; false if a task is at work, which may have it. */
    boolean deliverHere(int added) {
        if (added > 1) {
            watch();
        }
        boolean alone = active.compareAndSet(0, 1);
        if (alone) {
            work();
        }
        return alone;
    }

    /** Runs on another thread what must not run on this one; false if none takes it any more. */
    boolean runElsewhere(Runnable task) {
        return Strays.takes(callbacks::schedule, task);
    }

    private boolean isStuckOrBehind(Runnable first, @Nullable Runnable firstBefore) {
        int running = active.get();
        return first == firstBefore || (running < MAX_TASKS && isMoreReadyThan(running * READY_FOR_ONE_TASK));
    }

    /** Without the bundle that is being worked off. */
    private boolean isMoreReadyThan(int few) {
        int waiting = 0;
        boolean beingWorkedOff = true;
        for (Bundle bundle : ready) {
            waiting += beingWorkedOff ? 0 : bundle.size();
            beingWorkedOff = false;
            if (waiting > few) {
                return true;
            }
        }
        return false;
    }

    /** Takes what is to be delivered next; it is the caller's. */
    private @Nullable Runnable take() {
        for (Bundle first = ready.peek(); first != null; first = ready.peek()) {
            Runnable next = first.take();
            if (next != null) {
                return next;
            }
            removeEmpty(first);
        }
        return null;
    }

    /** What would be taken next. */
    private @Nullable Runnable first() {
        for (Bundle first = ready.peek(); first != null; first = ready.peek()) {
            Runnable next = first.first();
            if (next != null) {
                return next;
            }
            removeEmpty(first);
        }
        return null;
    }

    /** Whoever finds that another one removed it, and took out the next, puts that back; and nobody may have been watching it. */
    private void removeEmpty(Bundle first) {
        Bundle removed = ready.poll();
        if (removed != null && removed != first) {
            ready.offer(removed);
            watch();
        }
    }

    private void start() {
        if (!startOrReject()) {
            work();
        }
    }

    /** Another task beside those that are at work, unless one is about to begin. */
    private void startAnother() {
        if (toBegin.get() == 0) {
            active.incrementAndGet();
            if (!startOrReject()) {
                active.decrementAndGet();
            }
        }
    }

    private boolean startOrReject() {
        toBegin.incrementAndGet();
        boolean isTaken = runElsewhere(this::begin);
        if (!isTaken) {
            toBegin.decrementAndGet();
        }
        return isTaken;
    }

    private void begin() {
        toBegin.decrementAndGet();
        work();
    }

    private void work() {
        Cork cork = new Cork(this);
        Cork outer = CORK.get();
        CORK.set(cork);
        corks.add(cork);
        try {
            do {
                deliverAll(cork);
                active.decrementAndGet();
            } while (first() != null && active.compareAndSet(0, 1));
        } finally {
            CORK.set(outer);
            corks.remove(cork);
            cork.pull();
        }
    }

    private void deliverAll(Cork cork) {
        int inRun = 0;
        long since = timer.now(TimeUnit.NANOSECONDS);
        for (Runnable next = take(); next != null; next = take()) {
            run(next);
            if (++inRun % MOST_IN_A_RUN == 0) {
                cork.pull();
            }
            if (inRun % TIMED_TOGETHER == 0) {
                long now = timer.now(TimeUnit.NANOSECONDS);
                if (now - since > TIMED_TOGETHER * SLOW_NANOS && active.get() < MAX_TASKS && first() != null) {
                    startAnother();
                }
                since = now;
            }
        }
        cork.pull();
    }

    /** Whether this thread is bringing answers just now, and pokes the pipe when a run of them is out, or the watch does. */
    boolean pokesLater(DrainLoop pipe) {
        Cork cork = CORK.get();
        if (cork == null || !cork.isOf(this)) {
            return false;
        }
        boolean first = cork.isEmpty();
        boolean held = cork.holds(pipe);
        // While a connection waits for its subscriber nobody else could write either.
        if (first && !OnConnection.isHere()) {
            watch();
        }
        return held;
    }

    /** What a subscriber throws is no reason to keep the answers of others. */
    private static void run(Runnable delivery) {
        try {
            delivery.run();
        } catch (Throwable thrown) {
            Strays.tell(thrown);
        }
    }

    private void watch() {
        if (!watched.get() && isBusy() && watched.compareAndSet(false, true)) {
            look(first());
        }
    }

    private boolean isBusy() {
        if (first() != null) {
            return true;
        }
        for (Cork cork : corks) {
            if (!cork.isEmpty()) {
                return true;
            }
        }
        return false;
    }

    private void look(@Nullable Runnable first) {
        try {
            timer.schedule(() -> looked(first), WATCH_MILLIS, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException noTimer) {
            watched.set(false);
        }
    }

    private void looked(@Nullable Runnable firstBefore) {
        corks.forEach(Cork::pull);
        Runnable first = first();
        if (first == null) {
            watched.set(false);
            watch();
            return;
        }
        if (isStuckOrBehind(first, firstBefore)) {
            startAnother();
        }
        look(first);
    }
}
