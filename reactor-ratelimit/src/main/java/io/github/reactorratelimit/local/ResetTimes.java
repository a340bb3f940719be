package io.github.reactorratelimit.local;

import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * When keys were reset: a debit from before then, or from the same tick, is forgotten, and refunding it would lift the key
 * above what it would have had the debit not happened. Keys share stripes, so that memory is bounded; a
 * refund that is held to be older than a reset is lost to the strict side.
 */
final class ResetTimes {

    private static final int STRIPES = 1 << 12;

    private final AtomicReference<@Nullable AtomicLongArray> times = new AtomicReference<>();

    void record(String key, long now) {
        array().accumulateAndGet(index(key), now, Math::max);
    }

    boolean isBeforeReset(String key, long debitedAt) {
        AtomicLongArray array = times.get();
        return array != null && debitedAt <= array.get(index(key));
    }

    private AtomicLongArray array() {
        AtomicLongArray array = times.get();
        if (array != null) {
            return array;
        }
        AtomicLongArray created = new AtomicLongArray(STRIPES);
        for (int i = 0; i < STRIPES; i++) {
            created.setPlain(i, Long.MIN_VALUE);
        }
        AtomicLongArray other = times.compareAndExchange(null, created);
        return other == null ? created : other;
    }

    private static int index(String key) {
        int hash = key.hashCode();
        return (hash ^ hash >>> 16) & (STRIPES - 1);
    }
}
