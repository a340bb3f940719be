package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder.Event;
import io.github.reactorratelimit.algorithm.Algorithms;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Permits that are debited in Redis first, a batch at a time, and spent here within the lease time of their
 * debit, counted from before the call was sent. What is not spent by then is refunded. So nothing is spent
 * that was not debited, and what is spent in a time W was debited in W and the lease time before it.
 *
 * <p>An instance holds at most a quarter of the capacity of a key, for a bounded number of keys. What expired
 * is refunded a few batches at a time, so that many of them do not delay requests.
 */
final class PrepaidPermits {

    static final int MAX_KEYS = 10_000;

    /** Batches that are refunded at the same time. */
    private static final int REFUNDS_AT_A_TIME = 64;

    /**
     * If Redis has less than was requested, the next batch is requested after one of so many of a lease time.
     */
    private static final int SCARCE_REFILLS_PER_LEASE = 64;

    /** The same if a batch did not come. */
    private static final int FAILED_REFILLS_PER_LEASE = 4;

    private final LimiterSettings settings;
    private final VersionedCommands commands;
    private final Object owner;
    private final Function<Debit, Mono<Long>> refund;
    private final int maxKeys;
    private final long leaseNanos;
    private final Map<String, PrepaidKey> keys = new ConcurrentHashMap<>();
    private final AtomicBoolean sweeping = new AtomicBoolean();
    private volatile boolean closed;

    /**
     * @param owner what the debits of its decisions belong to
     * @param refund refunds a debit, and says how many permits are lost
     * @param leaseTime how long after their debit permits may be spent; null if none are prepaid
     */
    PrepaidPermits(
            LimiterSettings settings,
            VersionedCommands commands,
            Object owner,
            Function<Debit, Mono<Long>> refund,
            @Nullable Duration leaseTime) {
        this.settings = settings;
        this.commands = commands;
        this.owner = owner;
        this.refund = refund;
        this.maxKeys = leaseTime == null ? 0 : MAX_KEYS;
        this.leaseNanos = leaseTime == null ? 0 : leaseTime.toNanos();
    }

    /** @throws IllegalArgumentException if permits of the policy cannot be prepaid, saying why */
    static void require(RateLimitPolicy policy) {
        Algorithms.traits(policy).whyNotPrepaid().ifPresent(why -> {
            throw new IllegalArgumentException("permits of " + policy + " cannot be leased: " + why);
        });
    }

    /** Prepaid permits of the key. */
    long left(String key, ScriptPolicy policy) {
        PrepaidKey prepaid = keys.get(key);
        return prepaid == null || prepaid.policy() != policy ? 0 : prepaid.left();
    }

    /** Keys that have prepaid permits now, or may have soon. */
    int size() {
        return keys.size();
    }

    /** Spends prepaid permits; no allocation unless a batch has to be requested. */
    boolean spendNow(String key, ScriptPolicy policy, long permits) {
        PrepaidKey prepaid = keys.get(key);
        return prepaid != null && prepaid.policy() == policy && take(prepaid, permits) != null;
    }

    /** Spends prepaid permits; null if there are not so many. */
    @Nullable
    Decision spend(String key, ScriptPolicy policy, long permits) {
        PrepaidKey prepaid = keys.get(key);
        if (prepaid == null || prepaid.policy() != policy) {
            return null;
        }
        PrepaidKey.Batch batch = take(prepaid, permits);
        return batch == null ? null : prepaid.allow(prepaid.debit(owner, permits, batch), commands.now());
    }

    /**
     * The clock is read after the permits were taken: so none is spent after its time, however long the
     * thread was held up.
     */
    private PrepaidKey.@Nullable Batch take(PrepaidKey prepaid, long permits) {
        PrepaidKey.Batch batch = prepaid.take(permits);
        while (batch != null) {
            long now = commands.now();
            if (!batch.isExpired(now, leaseNanos)) {
                if (prepaid.isLow(now)) {
                    refill(prepaid, now);
                }
                return batch;
            }
            refund(prepaid, batch, permits + batch.close()).subscribe();
            batch = prepaid.take(permits);
        }
        return null;
    }

    /** Redis granted a request for the key: if it is used a lot, some permits are prepaid. */
    void granted(String key, @Nullable RateLimitPolicy override, CommandReply reply) {
        PrepaidKey prepaid = keys.get(key);
        if (prepaid == null) {
            prepaid = add(key, override, reply.policy());
        }
        if (prepaid == null || prepaid.policy() != reply.policy()) {
            return;
        }
        long now = commands.now();
        if (prepaid.countRequest(now)) {
            prepaid.learn(reply, now);
            if (reply.remaining() > 0 && prepaid.isLow(now)) {
                refill(prepaid, now);
            }
        }
    }

    private @Nullable PrepaidKey add(String key, @Nullable RateLimitPolicy override, ScriptPolicy policy) {
        if (closed
                || keys.size() >= maxKeys
                || PrepaidKey.most(policy) == 0
                || Algorithms.traits(policy.policy()).whyNotPrepaid().isPresent()) {
            return null;
        }
        PrepaidKey added =
                keys.computeIfAbsent(key, name -> new PrepaidKey(name, override, policy, leaseNanos, commands.now()));
        sweepLater();
        return added;
    }

    private void refill(PrepaidKey prepaid, long now) {
        if (closed || !prepaid.beginRefill()) {
            return;
        }
        long wanted = prepaid.nextBatch(now);
        if (wanted < 1) {
            prepaid.endRefill(now);
            return;
        }
        commands.send(prepaid.key(), prepaid.override(), Command.acquireUpTo(wanted))
                .subscribe(
                        reply -> refilled(prepaid, wanted, now, reply),
                        failed -> refillFailed(prepaid, wanted, failed));
    }

    private void refilled(PrepaidKey prepaid, long wanted, long sentNanos, CommandReply reply) {
        prepaid.learn(reply, commands.now());
        if (reply.count() > 0) {
            prepaid.add(new PrepaidKey.Batch(reply.count(), reply.key().nowMicros(), sentNanos));
        }
        if (closed || reply.policy() != prepaid.policy()) {
            refundNow(prepaid);
        }
        boolean isScarce = reply.count() < wanted;
        prepaid.endRefill(isScarce ? sentNanos + leaseNanos / SCARCE_REFILLS_PER_LEASE : sentNanos);
    }

    private void refillFailed(PrepaidKey prepaid, long wanted, Throwable failed) {
        if (failed instanceof RedisUnavailableException unavailable && unavailable.isUnanswered()) {
            settings.recorder().counted(Event.PREPAID_UNANSWERED, wanted);
        }
        prepaid.endRefill(commands.now() + leaseNanos / FAILED_REFILLS_PER_LEASE);
    }

    private Mono<Void> refund(PrepaidKey prepaid, PrepaidKey.Batch batch, long permits) {
        boolean isExpired = batch.isExpired(commands.now(), leaseNanos);
        return refund.apply(prepaid.debit(owner, permits, batch))
                .doOnNext(lost -> {
                    count(Event.PREPAID_LOST, lost);
                    count(Event.PREPAID_EXPIRED, isExpired ? permits - lost : 0);
                })
                .doOnError(failed -> count(Event.PREPAID_LOST, permits))
                .onErrorComplete()
                .then();
    }

    /** Closes batches that were removed; the refunds of what was left in them have yet to be sent. */
    private List<Mono<Void>> close(PrepaidKey prepaid, List<PrepaidKey.Batch> removed) {
        List<Mono<Void>> refunds = new ArrayList<>();
        for (PrepaidKey.Batch batch : removed) {
            long rest = batch.close();
            if (rest > 0) {
                refunds.add(refund(prepaid, batch, rest));
            }
        }
        return refunds;
    }

    private static Mono<Void> send(List<Mono<Void>> refunds) {
        return Flux.merge(Flux.fromIterable(refunds), REFUNDS_AT_A_TIME).then();
    }

    private void count(Event event, long permits) {
        if (permits > 0) {
            settings.recorder().counted(event, permits);
        }
    }

    /** Refunds the prepaid permits of a key: what is sent for the key after this finds them in Redis. */
    void refundNow(String key) {
        PrepaidKey prepaid = keys.get(key);
        if (prepaid != null) {
            refundNow(prepaid);
        }
    }

    private void refundNow(PrepaidKey prepaid) {
        send(close(prepaid, prepaid.removeAll())).subscribe();
    }

    /** Drops the prepaid permits of a key: the state that they were debited from is gone. */
    void drop(String key) {
        PrepaidKey prepaid = keys.get(key);
        if (prepaid != null) {
            prepaid.removeAll().forEach(PrepaidKey.Batch::close);
        }
    }

    /** Another policy is in effect, under which what was debited is spent: it is lost for every key. */
    void loseAll() {
        for (PrepaidKey prepaid : keys.values()) {
            prepaid.removeAll().forEach(batch -> count(Event.PREPAID_LOST, batch.close()));
        }
    }

    /**
     * Refunds everything. A batch that is still in flight is refunded when it comes: before the limiter's
     * commands are {@linkplain LimiterCommands#idle idle}.
     */
    Mono<Void> close() {
        return Mono.defer(() -> {
            closed = true;
            List<Mono<Void>> refunds = new ArrayList<>();
            keys.values().forEach(prepaid -> refunds.addAll(close(prepaid, prepaid.removeAll())));
            return send(refunds).doOnTerminate(keys::clear);
        });
    }

    /** One task is pending while there are keys, and none otherwise. */
    private void sweepLater() {
        if (!keys.isEmpty() && !closed && sweeping.compareAndSet(false, true)) {
            try {
                long sweepNanos = Math.max(1, leaseNanos / PrepaidKey.SWEEPS_PER_LEASE);
                settings.scheduler().schedule(this::sweep, sweepNanos, TimeUnit.NANOSECONDS);
            } catch (RejectedExecutionException noTimer) {
                // Without one nothing would be refunded in time: from now on Redis decides everything.
                close().subscribe();
            }
        }
    }

    private void sweep() {
        long now = commands.now();
        List<Mono<Void>> refunds = new ArrayList<>();
        keys.values().removeIf(prepaid -> {
            refunds.addAll(close(prepaid, prepaid.removeExpired(now)));
            boolean isRetired = prepaid.retire(now);
            if (isRetired) {
                refunds.addAll(close(prepaid, prepaid.removeAll()));
            }
            return isRetired;
        });
        send(refunds).subscribe();
        sweeping.set(false);
        sweepLater();
    }
}
