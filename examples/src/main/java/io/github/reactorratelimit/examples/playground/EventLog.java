package io.github.reactorratelimit.examples.playground;

import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import reactor.core.scheduler.Scheduler;

/** Events that no frame has taken yet, with their times. Any thread may add; one at a time drains. */
public final class EventLog {

    /** Far more than a page leaves that reads; one that has stopped reading is given up. */
    static final int CAPACITY = 40_000;

    private final Scheduler clock;
    private final long startNanos;
    private final Queue<long[]> events = new ConcurrentLinkedQueue<>();
    private final AtomicInteger size = new AtomicInteger();

    EventLog(Scheduler clock) {
        this.clock = clock;
        this.startNanos = clock.now(TimeUnit.NANOSECONDS);
    }

    /** Now, since the log was made. */
    public long nanos() {
        return clock.now(TimeUnit.NANOSECONDS) - startNanos;
    }

    /** Now, since the log was made. */
    public long micros() {
        return TimeUnit.NANOSECONDS.toMicros(nanos());
    }

    /** Something happens now. */
    public void add(int lane, int what, long request) {
        size.incrementAndGet();
        events.add(new long[] {lane, what, request, micros()});
    }

    boolean isFull() {
        return size.get() >= CAPACITY;
    }

    /** All that no frame has taken: lane, what, request, microseconds. */
    public List<long[]> drain() {
        List<long[]> drained = new ArrayList<>();
        for (long[] event = events.poll(); event != null; event = events.poll()) {
            drained.add(event);
        }
        size.addAndGet(-drained.size());
        return drained;
    }
}
