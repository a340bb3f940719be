package io.github.reactorratelimit.local;

import java.util.Iterator;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import reactor.core.scheduler.Scheduler;

/**
 * Carries the keys of the policy before over to the new table, a few at a time, on the limiter's scheduler. Requests for
 * a key carry it over themselves, so no request waits for this. It ends when all keys have been carried over, or when
 * another change comes.
 */
final class Migration implements Runnable {

    private static final int KEYS_PER_TASK = 512;

    private final KeyTable table;
    private final CarriedSpend carried;
    private final Iterator<String> keys;
    private final Scheduler scheduler;
    private final LongSupplier clock;
    private final BooleanSupplier inEffect;
    private boolean allEntered = true;

    private Migration(
            KeyTable table,
            CarriedSpend carried,
            Iterator<String> keys,
            Scheduler scheduler,
            LongSupplier clock,
            BooleanSupplier inEffect) {
        this.table = table;
        this.carried = carried;
        this.keys = keys;
        this.scheduler = scheduler;
        this.clock = clock;
        this.inEffect = inEffect;
    }

    /**
     * Starts it. Keys that share overflow cells are carried over only when they are used.
     *
     * @param inEffect whether the table still is that of the policy in effect
     */
    static void start(KeyTable table, Scheduler scheduler, LongSupplier clock, BooleanSupplier inEffect) {
        CarriedSpend carried = table.carried();
        if (carried != null) {
            new Migration(table, carried, carried.keys(), scheduler, clock, inEffect).schedule();
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
            allEntered &= !carried.hasSpent(key) || table.adopt(key, now);
        }
        if (keys.hasNext()) {
            schedule();
        } else if (allEntered && carried.isComplete()) {
            table.carriedOver(carried);
        }
    }
}
