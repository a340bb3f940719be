package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitRecorder.WaitOutcome;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.queue.KeyQueue;
import io.github.reactorratelimit.queue.QueueRuntime;
import io.github.reactorratelimit.queue.Waiter;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * A queue in front of a store that debits permits for a time ahead. Each waiter reserves a slot on arrival;
 * the slots belong to the queue. At the time of a slot the first waiter that needs as many permits leaves. So
 * when a waiter cancels, those behind move up, and the last slot is freed. Waiters that need the same number
 * never overtake each other; no waiter is delayed by one that came later.
 *
 * <p>For each waiter there is a slot, a reservation in flight, or a time at which to reserve again: after a
 * fallback answered because the store did not, or after the slot became void.
 */
final class ReservationQueue extends KeyQueue<ReservingKey> {

    /** How long to wait where a denial of the fallback could not say. */
    private static final long BLIND_RETRY_NANOS = Duration.ofMillis(50).toNanos();

    /** The fallback does not know when the store answers again. */
    private static final long MAX_RETRY_NANOS = Duration.ofMillis(500).toNanos();

    /** How late a slot may come to lie because its time had to be converted from another clock. */
    private static final long GRACE_NANOS = Duration.ofMillis(5).toNanos();

    /**
     * Slots are read again twice in the time for which they are used without that; those of all keys at the
     * same moments.
     */
    private static final long REFRESH_NANOS = Duration.ofMillis(125).toNanos();

    /** A slot that is not earlier by as much is not worth a round trip. */
    static final long WORTH_A_SWAP_NANOS = Duration.ofMillis(1).toNanos();

    private final int maxWaiters;

    /** The drain loop's, as are the fields below. */
    private final Map<Long, SameCostQueue> byCost = new HashMap<>();

    /**
     * When to reserve for waiters that have neither a slot nor a reservation in flight; {@link
     * Algorithm#UNKNOWN} for at once.
     */
    private long reserveAgainAt = Algorithm.UNKNOWN;

    /** The waiters that wait in another queue since the policy has no slots. They count as in flight. */
    private final Map<Waiter<ReservingKey>, WaitElsewhere> elsewhere = new HashMap<>();

    private int inFlight;
    private boolean refreshing;
    private boolean refreshWanted;
    private boolean swapWanted;

    /** When to read the slots again; {@link Algorithm#UNKNOWN} if there is none. */
    private long refreshAt = Algorithm.UNKNOWN;

    ReservationQueue(QueueRuntime runtime, int maxWaiters, ReservingKey key) {
        super(runtime, key);
        this.maxWaiters = maxWaiters;
    }

    /** The slots may have been moved, or become void. */
    void refresh() {
        post(now -> refreshWanted = true);
    }

    /** The key has another policy: all waiters reserve again. */
    void reschedule(ReservingKey other) {
        post(now -> {
            key = other;
            byCost.values().forEach(sameCost -> sameCost.freeAllBut(0));
            reserveAgainAt = Algorithm.UNKNOWN;
        });
    }

    /** A slot was freed elsewhere: perhaps it is earlier than ours. */
    void swap() {
        post(now -> swapWanted = true);
    }

    /** A slot in flight must find a waiter that uses it, or be freed. */
    @Override
    protected boolean isBusy() {
        return inFlight > 0;
    }

    @Override
    protected void left(Waiter<ReservingKey> waiter, boolean granted) {
        SameCostQueue sameCost = byCost.get(waiter.permits());
        if (sameCost != null) {
            sameCost.waiters.remove(waiter);
        }
        WaitElsewhere wait = elsewhere.remove(waiter);
        if (wait != null && wait.leave()) {
            ended(waiter, waiter.permits());
        }
    }

    @Override
    protected void admit(Waiter<ReservingKey> newcomer, long now) {
        SameCostQueue sameCost = sameCost(newcomer.permits());
        sameCost.waiters.add(newcomer);
        if (size() > maxWaiters) {
            deny(newcomer, now, Algorithm.UNKNOWN);
        } else {
            reserve(newcomer, sameCost, now);
        }
    }

    private void reserve(Waiter<ReservingKey> waiter, SameCostQueue sameCost, long now) {
        sameCost.inFlight++;
        reserve(waiter, waiter.permits(), waiter.notAfter(), now);
    }

    /** @param waiter whom the slot is for; null if it is to be swapped for the last one */
    private void reserve(@Nullable Waiter<ReservingKey> waiter, long permits, long notAfter, long now) {
        inFlight++;
        ReservingKey from = key;
        long maxWait = notAfter == Long.MAX_VALUE ? notAfter : Math.max(0, notAfter - now);
        Consumer<Object> replied = answer -> post(then -> take(from, waiter, permits, answer, then));
        Mono.<Object>defer(() -> from.reserve(permits, maxWait))
                .switchIfEmpty(Mono.error(() -> new IllegalStateException("the store gave no answer")))
                .subscribe(replied, replied);
    }

    @Override
    protected long serve(long now) {
        long next = Algorithm.UNKNOWN;
        for (SameCostQueue sameCost : byCost.values()) {
            next = Math.min(next, serve(sameCost, now));
        }
        if (swapWanted) {
            swapWanted = false;
            swapLast(now);
        }
        next = Math.min(next, reserveAgain(now));
        next = Math.min(next, refreshAgain(now));
        byCost.values().removeIf(SameCostQueue::isEmpty);
        return next;
    }

    /**
     * Slots are read again while there are any. The answer to a reservation says as much, so while one is in
     * flight nothing is read unless something changed.
     */
    private long refreshAgain(long now) {
        if (byCost.values().stream().noneMatch(SameCostQueue::hasSlots)) {
            refreshAt = Algorithm.UNKNOWN;
        } else if (refreshAt == Algorithm.UNKNOWN || (refreshAt <= now && inFlight == 0)) {
            refreshWanted |= refreshAt != Algorithm.UNKNOWN;
            refreshAt = (Math.floorDiv(now, REFRESH_NANOS) + 1) * REFRESH_NANOS;
        }
        if (refreshWanted && !refreshing) {
            refreshWanted = false;
            refreshing = true;
            inFlight++;
            key.refresh().subscribe(nothing -> {}, failed -> post(this::refreshFailed), () -> post(this::refreshed));
        }
        return refreshAt > now ? refreshAt : Algorithm.UNKNOWN;
    }

    /** It is not known yet what moved the slots. */
    private void refreshFailed(long now) {
        refreshed(now);
        refreshAt = now + BLIND_RETRY_NANOS;
    }

    /** After a pause: those whose time has come to lie behind their patience need not wait for it. */
    private void refreshed(long now) {
        refreshing = false;
        inFlight--;
        for (SameCostQueue sameCost : byCost.values()) {
            if (sameCost.dropAllVoid()) {
                reserveAgainAt = Algorithm.UNKNOWN;
            }
            denyWhoseTurnComesTooLate(sameCost, now);
        }
    }

    /** The answer to a reservation, or its error. */
    private void take(ReservingKey from, @Nullable Waiter<ReservingKey> waiter, long permits, Object answer, long now) {
        ended(waiter, permits);
        if (answer instanceof ReservingKey.Slot slot) {
            if (from == key) {
                keep(slot, sameCost(permits));
                swapWanted |= waiter == null;
            } else {
                slot.free();
            }
        } else if (waiter != null && waiter.isLinked()) {
            if (answer instanceof Mono<?> other) {
                waitElsewhere(other, from, waiter);
            } else if (answer instanceof Decision decision) {
                decided(waiter, decision, now);
            } else {
                answer(waiter, answer, WaitOutcome.DENIED);
            }
        } else if (answer instanceof Decision decision) {
            key.giveBack(decision);
        }
    }

    private SameCostQueue sameCost(long permits) {
        return byCost.computeIfAbsent(permits, cost -> new SameCostQueue());
    }

    private void ended(@Nullable Waiter<ReservingKey> waiter, long permits) {
        inFlight--;
        if (waiter != null) {
            sameCost(permits).inFlight--;
        }
    }

    private void waitElsewhere(Mono<?> other, ReservingKey from, Waiter<ReservingKey> waiter) {
        inFlight++;
        sameCost(waiter.permits()).inFlight++;
        WaitElsewhere wait = new WaitElsewhere(
                answer -> post(now -> {
                    elsewhere.remove(waiter);
                    take(from, waiter, waiter.permits(), answer, now);
                }),
                from::giveBack);
        elsewhere.put(waiter, wait);
        other.subscribe(wait);
    }

    private void keep(ReservingKey.Slot slot, SameCostQueue sameCost) {
        refreshAt = Algorithm.UNKNOWN;
        if (sameCost.add(slot)) {
            denyWhoseTurnComesTooLate(sameCost, key.now());
        }
    }

    /** There was no slot. A denial of Redis is final; one of the fallback holds for a while. */
    private void decided(Waiter<ReservingKey> waiter, Decision decision, long now) {
        if (decision.allowed()) {
            if (!answer(waiter, decision)) {
                key.giveBack(decision);
            }
            return;
        }
        long retry = decision.retryAfter().map(Duration::toNanos).orElse(BLIND_RETRY_NANOS);
        if (decision.degraded() && (waiter.notAfter() == Long.MAX_VALUE || retry <= waiter.notAfter() - now)) {
            watch(waiter);
            reserveAgainAt = Math.min(reserveAgainAt, now + Math.min(retry, MAX_RETRY_NANOS));
        } else {
            answer(waiter, decision);
        }
    }

    /** Reserves for the waiters that have neither a slot nor a reservation in flight. */
    private long reserveAgain(long now) {
        if (byCost.values().stream().noneMatch(sameCost -> sameCost.missing() > 0)) {
            return Algorithm.UNKNOWN;
        }
        if (reserveAgainAt != Algorithm.UNKNOWN && reserveAgainAt > now) {
            return reserveAgainAt;
        }
        reserveAgainAt = Algorithm.UNKNOWN;
        for (SameCostQueue sameCost : byCost.values()) {
            sameCost.lacking().forEach(waiter -> reserve(waiter, sameCost, now));
        }
        return Algorithm.UNKNOWN;
    }

    private long serve(SameCostQueue sameCost, long now) {
        if (sameCost.dropVoid()) {
            reserveAgainAt = Algorithm.UNKNOWN;
        }
        for (ReservingKey.Slot first = sameCost.first(); first != null; first = sameCost.first()) {
            long at = first.at();
            if (isHeldUp(first, now)) {
                break;
            }
            Decision decision = first.use(now);
            if (decision == null) {
                break;
            }
            sameCost.removeFirst();
            grant(sameCost, decision, at);
        }
        sameCost.freeAllBut(sameCost.waiters.size());
        ReservingKey.Slot first = sameCost.first();
        if (first == null) {
            return Algorithm.UNKNOWN;
        }
        return isHeldUp(first, now) ? now + BLIND_RETRY_NANOS : first.at();
    }

    /** Its time has come, but it is not known whether it still holds. */
    private static boolean isHeldUp(ReservingKey.Slot slot, long now) {
        long at = slot.at();
        return at <= now && at > slot.confirmedUntil();
    }

    private void grant(SameCostQueue sameCost, Decision decision, long at) {
        while (!sameCost.waiters.isEmpty()) {
            Waiter<ReservingKey> head = sameCost.waiters.iterator().next();
            head.dueAt(at);
            if (answer(head, decision)) {
                return;
            }
        }
        key.giveBack(decision);
    }

    private void denyWhoseTurnComesTooLate(SameCostQueue sameCost, long now) {
        sameCost.forEachReserved((waiter, slot) -> {
            if (waiter.hasDeadline() && !slot.isVoid() && slot.at() - GRACE_NANOS > waiter.notAfter()) {
                deny(waiter, now, slot.at());
            }
        });
    }

    /** Tries to swap the last slot for an earlier one that was freed. */
    private void swapLast(long now) {
        ReservingKey.Slot last = null;
        for (SameCostQueue sameCost : byCost.values()) {
            ReservingKey.Slot candidate = sameCost.last();
            if (candidate != null && (last == null || candidate.order() > last.order())) {
                last = candidate;
            }
        }
        if (last != null && last.at() - now > WORTH_A_SWAP_NANOS) {
            reserve(null, last.permits(), last.at() - WORTH_A_SWAP_NANOS, now);
        }
    }

    @Override
    protected void deny(Waiter<ReservingKey> waiter, long now, long grantedAt) {
        answer(waiter, key.deny(now, waiter.permits(), grantedAt));
    }
}
