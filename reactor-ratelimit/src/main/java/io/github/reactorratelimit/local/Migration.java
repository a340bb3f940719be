package io.github.reactorratelimit.local;

import io.github.reactorratelimit.local.KeyTable.CarriedSpend;
import java.util.Iterator;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import reactor.core.scheduler.Scheduler;

/**
 * Carries the keys of the policy before over to the new table, a few at a time, on the limiter's scheduler. Requests for
 * a key carry it over themselves, so no request waits for this. It ends when all keys have been carried over, or when
 * another change comes.
 *
 * @param inEffect whether the table still is that of the policy in effect
 * @param allEntered whether no key so far was without room in the table
 */
record Migration(
        KeyTable table,
        CarriedSpend carried,
        Iterator<String> keys,
        Scheduler scheduler,
        LongSupplier clock,
        BooleanSupplier inEffect,
        AtomicBoolean allEntered)
        implements Runnable {

    private static final int KEYS_PER_TASK = 512;

    /**
     * Starts it. Keys that share overflow cells are carried over only when they are used.
     *
     * @param inEffect whether the table still is that of the policy in effect
     */
    static void start(KeyTable table, Scheduler scheduler, LongSupplier clock, BooleanSupplier inEffect) {
        CarriedSpend carried = table.carried();
        if (carried != null) {
            new Migration(table, carried, carried.keys(), scheduler, clock, inEffect, new AtomicBoolean(true))
                    .schedule();
        }
    }

    private void schedule() {
        try {
            scheduler.schedule(this);
        } catch (RejectedExecutionException disposed) {
            // Keys are carried over when they are used.
        }
    }

    @Override
    public void run() {
        if (!inEffect.getAsBoolean()) {
            return;
        }
        long now = clock.getAsLong();
        for (int i = 0; i < KEYS_PER_TASK && keys.hasNext(); i++) {
            String key = keys.next();
            if (carried.hasSpent(key) && !table.adopt(key, now)) {
                allEntered.set(false);
            }
        }
        if (keys.hasNext()) {
            schedule();
        } else if (allEntered.get() && carried.isComplete()) {
            table.carriedOver(carried);
        }
    }
}
