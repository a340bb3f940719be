package io.github.reactorratelimit;

import java.time.Duration;
import java.util.Optional;

/**
 * A true queue: requests leave at a constant rate, one slot every {@code period / permits}; a request is
 * denied if the queue is full. {@code tryAcquire} is allowed only if it would leave now. A request for {@code
 * k} permits leaves at its slot, and the next slot is {@code k} intervals later.
 *
 * <pre>{@code
 * LeakyBucket.perSecond(50).withQueue(200)   // one every 20 ms; at most 200 wait
 * }</pre>
 *
 * <p>Slots are never closer than one interval. An emission happens at its slot, or later by the
 * lateness of the timer; the following slots do not move, so lateness never adds up. {@link
 * #strictSpacing()} spaces from the actual emission instead and accepts the drift.
 *
 * <p>A stream requests its next permit only after the last element was emitted. If it does so within one
 * interval of a late emission, it gets the next slot even if that has passed, and leaves immediately. At most
 * 20 ms are made up in this process; a longer stall is lost. A later request restarts the schedule without a
 * burst.
 *
 * @param permits permits per period
 * @param period the time in which {@code permits} leave
 * @param queueCapacity permits that may wait, and the most permits of one request
 * @param strict whether slots are spaced from the actual emission
 */
public record LeakyBucket(long permits, Duration period, long queueCapacity, boolean strict)
        implements RateLimitPolicy {

    /** The default of {@link #withQueue(long)}. */
    public static final long DEFAULT_QUEUE_CAPACITY = 1_000;

    public LeakyBucket {
        Checks.permits("permits", permits);
        Checks.period("period", period);
        Checks.permits("queueCapacity", queueCapacity);
        Checks.fillTime("queueCapacity", queueCapacity, permits, period);
    }

    /** {@code permits} per {@code period}, a queue of at most {@code queueCapacity} permits. */
    public LeakyBucket(long permits, Duration period, long queueCapacity) {
        this(permits, period, queueCapacity, false);
    }

    /** {@code permits} per {@code period}, a queue of at most {@value #DEFAULT_QUEUE_CAPACITY} permits. */
    public static LeakyBucket of(long permits, Duration period) {
        return new LeakyBucket(permits, period, DEFAULT_QUEUE_CAPACITY);
    }

    /** {@code permits} per second, a queue of at most {@value #DEFAULT_QUEUE_CAPACITY} permits. */
    public static LeakyBucket perSecond(long permits) {
        return of(permits, Duration.ofSeconds(1));
    }

    /** The same rate with a queue of at most {@code queueCapacity} permits. */
    public LeakyBucket withQueue(long queueCapacity) {
        return new LeakyBucket(permits, period, queueCapacity, strict);
    }

    /** Emissions are never closer than one interval; a late timer delays all that follow. */
    public LeakyBucket strictSpacing() {
        return new LeakyBucket(permits, period, queueCapacity, true);
    }

    @Override
    public boolean settles() {
        return false;
    }

    @Override
    public long capacity() {
        return queueCapacity;
    }

    @Override
    public LeakyBucket share(int n) {
        return new LeakyBucket(
                permits, period.multipliedBy(n), Checks.shareOf("queueCapacity", queueCapacity, n), strict);
    }

    @Override
    public Optional<Duration> timeFor(long permits) {
        return Checks.timeFor(permits, this.permits, period);
    }

    @Override
    public <R> R accept(PolicyVisitor<R> visitor) {
        return visitor.visit(this);
    }
}
