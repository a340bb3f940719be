package io.github.reactorratelimit;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** Keeps what a limiter tells about its own accuracy. */
public final class AccuracyRecorder implements RateLimitRecorder {

    private final LongAdder told = new LongAdder();
    private final LongAdder lateNanos = new LongAdder();
    private final LongAccumulator latestNanos = new LongAccumulator(Math::max, 0);
    private final AtomicReference<@Nullable ClockReading> clock = new AtomicReference<>();
    private final LongAdder expired = new LongAdder();
    private final LongAdder lost = new LongAdder();
    private final LongAdder unanswered = new LongAdder();

    /** A recorder that has counted nothing yet. */
    public AccuracyRecorder() {}

    /**
     * How far the server's clock is ahead of this machine's; see {@link RateLimitRecorder#clockRead}.
     *
     * @param ahead negative if it is behind
     * @param error the truth lies within so much of it
     */
    public record ClockReading(Duration ahead, Duration error) {}

    /**
     * The figures since the start.
     *
     * @param toldInTurn requests that waited for a turn that was known beforehand, and were told of it
     * @param totalLateness how late they were told, together
     * @param maxLateness how late the latest of them was told
     * @param clock the last reading of the server's clock; empty if there is no server, or none was read yet
     * @param expiredPermits leased, and given back because their time was over; see {@link Stranding}
     * @param lostPermits leased, and could not be given back
     * @param unansweredPermits perhaps leased: no answer came
     */
    public record Snapshot(
            long toldInTurn,
            Duration totalLateness,
            Duration maxLateness,
            Optional<ClockReading> clock,
            long expiredPermits,
            long lostPermits,
            long unansweredPermits) {}

    /** What was counted so far; while requests are under way the figures may be of different moments. */
    public Snapshot snapshot() {
        return new Snapshot(
                told.sum(),
                Duration.ofNanos(lateNanos.sum()),
                Duration.ofNanos(latestNanos.get()),
                Optional.ofNullable(clock.get()),
                expired.sum(),
                lost.sum(),
                unanswered.sum());
    }

    @Override
    public void deliveredLate(long nanos) {
        told.increment();
        lateNanos.add(nanos);
        latestNanos.accumulate(nanos);
    }

    @Override
    public void clockRead(long aheadNanos, long errorNanos) {
        clock.set(new ClockReading(Duration.ofNanos(aheadNanos), Duration.ofNanos(errorNanos)));
    }

    @Override
    public void counted(Event event, long permits) {
        switch (event) {
            case PREPAID_EXPIRED -> expired.add(permits);
            case PREPAID_LOST -> lost.add(permits);
            case PREPAID_UNANSWERED -> unanswered.add(permits);
            default -> {}
        }
    }
}
