package io.github.reactorratelimit.redis;

import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Permits out of a purse in the hands of an ask, whose others are under way. They are spent, put back or given
 * back once: by whoever claims them.
 */
final class Held {

    /** So many of a batch. */
    record Part(Batch batch, long permits) {}

    private final Purse purse;
    private final List<Part> parts;
    private final AtomicBoolean settled = new AtomicBoolean();

    Held(Purse purse, List<Part> parts) {
        this.purse = purse;
        this.parts = parts;
    }

    long permits() {
        return parts.stream().mapToLong(Part::permits).sum();
    }

    List<Part> parts() {
        return parts;
    }

    /** True for the first caller only. */
    boolean claim() {
        boolean first = settled.compareAndSet(false, true);
        if (first) {
            purse.released(permits());
        }
        return first;
    }

    boolean isOver(long nowNanos, long leaseNanos) {
        return parts.stream().anyMatch(part -> part.batch().isOver(nowNanos, leaseNanos));
    }

    /** Gives back what is debited at several times as if all were debited at the first: less, never more. */
    long firstMicros(long orMicros) {
        return parts.stream().mapToLong(part -> part.batch().atMicros()).reduce(orMicros, Math::min);
    }
}
