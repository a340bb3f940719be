package io.github.reactorratelimit;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Keeps what a limiter tells about its own accuracy, for whoever has no registry of meters.
 *
 * <pre>{@code
 * AccuracyRecorder accuracy = new AccuracyRecorder();
 * RateLimiter limiter = RateLimiter.builder(policy).recorder(accuracy).audit(1_000).build();
 * accuracy.snapshot().excessPermits();
 * }</pre>
 *
 * <p>Thread-safe, and never waits.
 */
public final class AccuracyRecorder implements RateLimitRecorder {

    private final LongAdder told = new LongAdder();
    private final LongAdder lateNanos = new LongAdder();
    private final LongAccumulator latestNanos = new LongAccumulator(Math::max, 0);
    private final AtomicReference<@Nullable ClockReading> clock = new AtomicReference<>();
    private final LongAdder expired = new LongAdder();
    private final LongAdder lost = new LongAdder();
    private final LongAdder unanswered = new LongAdder();
    private final LongAdder granted = new LongAdder();
    private final LongAdder excess = new LongAdder();
    private final LongAdder denied = new LongAdder();
    private final LongAdder wronglyDenied = new LongAdder();

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
     * @param auditedPermits granted to keys that are {@linkplain RateLimiterBuilder#audit audited}
     * @param excessPermits of those, how many should not have been
     * @param auditedDenials permits denied to keys that are audited
     * @param wronglyDeniedPermits of those, how many should have been granted
     */
    public record Snapshot(
            long toldInTurn,
            Duration totalLateness,
            Duration maxLateness,
            Optional<ClockReading> clock,
            long expiredPermits,
            long lostPermits,
            long unansweredPermits,
            long auditedPermits,
            long excessPermits,
            long auditedDenials,
            long wronglyDeniedPermits) {}

    /** What was counted so far; while requests are under way the figures may be of different moments. */
    public Snapshot snapshot() {
        return new Snapshot(
                told.sum(),
                Duration.ofNanos(lateNanos.sum()),
                Duration.ofNanos(latestNanos.get()),
                Optional.ofNullable(clock.get()),
                expired.sum(),
                lost.sum(),
                unanswered.sum(),
                granted.sum(),
                excess.sum(),
                denied.sum(),
                wronglyDenied.sum());
    }

    @Override
    public void toldLate(long nanos) {
        told.increment();
        lateNanos.add(nanos);
        latestNanos.accumulate(nanos);
    }

    @Override
    public void clockRead(long aheadNanos, long errorNanos) {
        clock.set(new ClockReading(Duration.ofNanos(aheadNanos), Duration.ofNanos(errorNanos)));
    }

    @Override
    public void leaseStranded(Stranding how, long permits) {
        LongAdder count = switch (how) {
            case EXPIRED -> expired;
            case LOST -> lost;
            case UNANSWERED -> unanswered;
        };
        count.add(permits);
    }

    @Override
    public void grantAudited(long permits, long tooMany) {
        granted.add(permits);
        excess.add(tooMany);
    }

    @Override
    public void denialAudited(long permits, boolean wrong) {
        denied.add(permits);
        if (wrong) {
            wronglyDenied.add(permits);
        }
    }
}
