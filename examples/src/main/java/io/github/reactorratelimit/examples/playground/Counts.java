package io.github.reactorratelimit.examples.playground;

import io.github.reactorratelimit.Decision.Degradation;
import io.github.reactorratelimit.RateLimitRecorder;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** What a limiter tells about itself: the measure that the picture is held against. */
public final class Counts implements RateLimitRecorder {

    private final AtomicLong allowed = new AtomicLong();
    private final AtomicLong denied = new AtomicLong();
    private final AtomicLong cancelled = new AtomicLong();
    private final AtomicLong waiting = new AtomicLong();
    private final Map<Event, Long> events = new ConcurrentHashMap<>();

    @Override
    public void decided(boolean isAllowed, long permits) {
        (isAllowed ? allowed : denied).incrementAndGet();
    }

    @Override
    public void queueChanged(int change) {
        waiting.addAndGet(change);
    }

    @Override
    public void waited(WaitOutcome outcome, long waitedNanos) {
        if (outcome == WaitOutcome.CANCELLED) {
            cancelled.incrementAndGet();
        }
    }

    @Override
    public void counted(Event event, long permits) {
        events.merge(event, 1L, Long::sum);
    }

    /** Requests that it allowed. */
    public long allowed() {
        return allowed.get();
    }

    /** Requests that it denied. */
    public long denied() {
        return denied.get();
    }

    /** Requests that left its line. */
    public long cancelled() {
        return cancelled.get();
    }

    /** Requests in its line now. */
    public long waiting() {
        return waiting.get();
    }

    /** Decisions that it made in this way, without its store. */
    public long degradedBy(Degradation degradation) {
        return events.getOrDefault(degradation.event(), 0L);
    }
}
