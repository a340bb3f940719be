package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitRecorder.Event;
import io.github.reactorratelimit.queue.DrainLoop;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * The leases that this process holds, renewed three times in the time that a lease lasts, also after the
 * limiter was closed: whoever holds one may still be at work. The next round is scheduled only where there
 * are leases, and not taken back when the last one is released: the one after it would need it again.
 */
final class LeaseKeeper extends DrainLoop {

    private static final int RENEWALS_PER_LEASE = 3;
    private static final int CALLS_AT_A_TIME = 16;

    private final LimiterSettings settings;
    private final ConcurrencyCalls calls;
    private final long everyNanos;
    private final Map<Long, HeldLease> held = new ConcurrentHashMap<>();
    private final AtomicBoolean renewing = new AtomicBoolean();

    private volatile boolean due;

    /** Written by the owner only. */
    private volatile boolean scheduled;

    LeaseKeeper(LimiterSettings settings, ConcurrencyCalls calls, Duration lease) {
        this.settings = settings;
        this.calls = calls;
        this.everyNanos = Math.max(1, lease.toNanos() / RENEWALS_PER_LEASE);
    }

    void keep(HeldLease lease) {
        held.put(lease.number(), lease);
        if (!scheduled) {
            signal();
        }
    }

    /** False if it is not kept any more: it was lost, or reset. */
    boolean letGo(long number) {
        return held.remove(number) != null;
    }

    /** The leases of a key were ended on purpose. */
    void letGoOf(String key) {
        held.values().removeIf(lease -> lease.key().equals(key));
    }

    boolean isRunning() {
        return scheduled;
    }

    @Override
    protected void drain() {
        if (due) {
            due = false;
            scheduled = false;
            renew();
        }
        if (!scheduled && !held.isEmpty()) {
            scheduled = schedule();
        }
    }

    /** Nothing can be renewed where the scheduler was disposed, and with it the limiter. */
    private boolean schedule() {
        try {
            settings.scheduler().schedule(this::roundIsDue, everyNanos, TimeUnit.NANOSECONDS);
            return true;
        } catch (RejectedExecutionException gone) {
            return false;
        }
    }

    private void roundIsDue() {
        due = true;
        signal();
    }

    /** A round that takes longer than the time between two is not overtaken by the next. */
    private void renew() {
        if (renewing.compareAndSet(false, true)) {
            Flux.fromIterable(batches())
                    .flatMap(this::renew, CALLS_AT_A_TIME)
                    .doFinally(ended -> renewing.set(false))
                    .subscribe();
        }
    }

    private List<List<HeldLease>> batches() {
        Map<String, List<HeldLease>> filling = new HashMap<>();
        List<List<HeldLease>> batches = new ArrayList<>();
        for (HeldLease lease : held.values()) {
            List<HeldLease> batch = filling.get(lease.key());
            if (batch == null || batch.size() == ScriptArguments.MAX_ASKS) {
                batch = new ArrayList<>();
                batches.add(batch);
                filling.put(lease.key(), batch);
            }
            batch.add(lease);
        }
        return batches;
    }

    /** What fails is tried again in the next round. */
    private Mono<Void> renew(List<HeldLease> batch) {
        List<ConcurrencyAsk> asks = batch.stream()
                .map(lease -> ConcurrencyAsk.of(ConcurrencyAsk.Op.RENEW, lease))
                .toList();
        return calls.askAll(batch.get(0).key(), asks)
                .doOnNext(answers -> {
                    for (int i = 0; i < answers.size(); i++) {
                        if (!answers.get(i).done()) {
                            lost(batch.get(i));
                        }
                    }
                })
                .onErrorComplete()
                .then();
    }

    private void lost(HeldLease lease) {
        if (letGo(lease.number())) {
            settings.recorder().counted(Event.LEASE_LOST, lease.permits());
        }
    }
}
