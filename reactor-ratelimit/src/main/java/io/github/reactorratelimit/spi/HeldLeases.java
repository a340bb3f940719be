package io.github.reactorratelimit.spi;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitRecorder.Event;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The leases of a concurrency limit that this process holds. Each is an entry in a log whose window is the length of a lease, so it ends
 * by itself if its holder dies. While it is held it moves to the present, three times per length.
 */
final class HeldLeases {

    private static final int RENEWALS_PER_LEASE = 3;

    private final EngineCalls calls;
    private final LimiterSettings settings;
    private final Map<Debit, Held> held = new ConcurrentHashMap<>();
    private final AtomicBoolean scheduled = new AtomicBoolean();

    /** The time of the entry, and the time to which a renewal in flight moves it. */
    private static final class Held {

        private volatile long at;
        private volatile long moving;

        Held(long at) {
            this.at = at;
            this.moving = at;
        }
    }

    HeldLeases(EngineCalls calls, LimiterSettings settings) {
        this.calls = calls;
        this.settings = settings;
    }

    /** Holds a debit if it is a lease. */
    void hold(Debit debit) {
        if (debit.policy() instanceof ConcurrencyLimit limit) {
            held.put(debit, new Held(debit.atTick()));
            schedule(limit.lease());
        }
    }

    /** Holds none of the key's leases any more, because they were reset. */
    void forget(String key) {
        held.keySet().removeIf(debit -> debit.key().equals(key));
    }

    /** The step that ends a lease. */
    EngineCalls.Step<Boolean> release(Debit debit) {
        Held lease = held.remove(debit);
        Held known = lease == null ? new Held(debit.atTick()) : lease;
        return seen -> new EngineCalls.Result<>(without(seen, debit, known), true);
    }

    private static <S> KeyValue<S> without(KeyValue<S> seen, Debit debit, Held lease) {
        S next = seen.steps().refund(seen.state(), seen.now(), lease.at, debit.permits());
        return next == seen.state()
                ? seen.with(seen.steps().refund(seen.state(), seen.now(), lease.moving, debit.permits()))
                : seen.with(next);
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
        held.keySet().stream()
                .map(Debit::key)
                .distinct()
                .forEach(key -> calls.command(key, seen -> renew(seen, key), done -> {})
                        .subscribe(done -> {}, unavailable -> {}));
        schedule(lease);
    }

    /** An entry that is not there any more expired before it was renewed: the lease may be one too many now. */
    private <S> EngineCalls.Result<Boolean> renew(KeyValue<S> seen, String key) {
        List<Held> moved = new ArrayList<>();
        long now = seen.now();
        long lost = 0;
        S state = seen.state();
        for (Map.Entry<Debit, Held> entry : held.entrySet()) {
            Debit debit = entry.getKey();
            if (debit.key().equals(key)) {
                Held lease = entry.getValue();
                S without = seen.steps().refund(state, now, lease.at, debit.permits());
                lost += without == state ? debit.permits() : 0;
                state = seen.steps()
                        .charge(without, now, debit.permits(), seen.steps().capacity());
                lease.moving = now;
                moved.add(lease);
            }
        }
        long tooLate = lost;
        return new EngineCalls.Result<>(seen.with(state), true, () -> {
            moved.forEach(lease -> lease.at = now);
            if (tooLate > 0) {
                settings.recorder().counted(Event.LEASE_LOST, tooLate);
            }
        });
    }
}
