package io.github.reactorratelimit.spi;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitRecorder.Event;
import io.github.reactorratelimit.spi.EngineCalls.Result;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The leases of a concurrency limit that this process holds. Each is an entry in a log whose window is the length of a lease, so it ends
 * by itself if its holder dies. While it is held it moves to the present, three times per length.
 *
 * @param held by lease the time of its entry; after a renewal with an unknown outcome it may be wrong, then the entry ends by itself
 * @param scheduled whether a renewal of all is scheduled
 */
record HeldLeases(EngineCalls calls, LimiterSettings settings, Map<Debit, Long> held, AtomicBoolean scheduled) {

    private static final int RENEWALS_PER_LEASE = 3;

    /** Holds a debit if it is a lease. */
    void hold(Debit debit) {
        if (debit.policy() instanceof ConcurrencyLimit limit) {
            held.put(debit, debit.atTick());
            schedule(limit.lease());
        }
    }

    /** Holds none of the key's leases any more that were taken before a reset. */
    void forget(String key, long resetAt) {
        held.keySet().removeIf(debit -> debit.key().equals(key) && debit.atTick() < resetAt);
    }

    /** Holds a lease no longer; the time of its entry. */
    long release(Debit debit) {
        Long at = held.remove(debit);
        return at == null ? debit.atTick() : at;
    }

    private void schedule(Duration lease) {
        if (!held.isEmpty() && scheduled.compareAndSet(false, true)) {
            long delayNanos = lease.toNanos() / RENEWALS_PER_LEASE;
            try {
                settings.scheduler().schedule(() -> renewAll(lease), delayNanos, TimeUnit.NANOSECONDS);
            } catch (RejectedExecutionException disposed) {
                held.clear();
            }
        }
    }

    private void renewAll(Duration lease) {
        scheduled.set(false);
        held.forEach((debit, at) ->
                calls.command(debit.key(), seen -> renew(seen, debit)).subscribe(Runnable::run, unavailable -> {}));
        schedule(lease);
    }

    /** An entry that is not there any more expired before it was renewed: the lease may be one too many now. */
    @SuppressWarnings("ReferenceEquality") // a refund that finds nothing returns the value that it was given
    private Result<Runnable> renew(KeyValue<?> seen, Debit debit) {
        Long at = held.get(debit);
        if (at == null) {
            return new Result<>(seen, () -> {});
        }
        KeyValue<?> without = seen.refund(at, debit.permits());
        boolean isLost = without == seen;
        return new Result<>(without.charge(debit.permits(), seen.steps().capacity()), () -> {
            held.replace(debit, at, seen.now());
            if (isLost) {
                settings.recorder().counted(Event.LEASE_LOST, debit.permits());
            }
        });
    }
}
