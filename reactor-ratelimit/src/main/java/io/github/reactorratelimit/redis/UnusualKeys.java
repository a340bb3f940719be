package io.github.reactorratelimit.redis;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Keys that the short script does not decide, because they have notes or slots: it said so a while ago, or this process wrote
 * them. They are asked for with the whole script at once. Keys share their marks by hash; who shares one takes the longer
 * way, with the same answer.
 */
final class UnusualKeys {

    private static final long REMEMBERED_NANOS = Duration.ofSeconds(10).toNanos();
    private static final int MARKS = 4_096;

    /** As a mark: none. A time that is this by chance is forgotten. */
    private static final long NONE = 0;

    private final AtomicLongArray untilNanos = new AtomicLongArray(MARKS);

    boolean isMarked(String key) {
        return untilNanos.get(slot(key)) != NONE;
    }

    /** Whether it was marked a moment ago. */
    boolean isUnusual(String key, long nowNanos) {
        int slot = slot(key);
        long until = untilNanos.get(slot);
        if (until == NONE) {
            return false;
        }
        if (until - nowNanos <= 0) {
            untilNanos.compareAndSet(slot, until, NONE);
            return false;
        }
        return true;
    }

    void mark(String key, long nowNanos) {
        untilNanos.set(slot(key), nowNanos + REMEMBERED_NANOS);
    }

    private static int slot(String key) {
        return (key.hashCode() * 0x9E3779B9) >>> 20;
    }
}
