package io.github.reactorratelimit.examples.playground;

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
    private final Map<Degradation, Long> degraded = new ConcurrentHashMap<>();

    @Override
    public void decided(boolean isAllowed, long permits) {
        (isAllowed ? allowed : denied).incrementAndGet();
    }

    @Override
    public void waitStarted() {
        waiting.incrementAndGet();
    }

    @Override
    public void waitEnded(WaitOutcome outcome, long waitedNanos) {
        waiting.decrementAndGet();
        if (outcome == WaitOutcome.CANCELLED) {
            cancelled.incrementAndGet();
        }
    }

    @Override
    public void degraded(Degradation degradation) {
        degraded.merge(degradation, 1L, Long::sum);
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
        return degraded.getOrDefault(degradation, 0L);
    }
}
