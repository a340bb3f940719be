package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Decision.Degradation;
import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimitRecorder.Event;
import io.github.reactorratelimit.RateLimiter;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Base64;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import reactor.core.publisher.Mono;

/**
 * Takes leases and gives them back: in Redis, or while it is away as the {@link FailureMode} says. A
 * debit's tick is the number of its lease. A take whose answer did not come in time may have run: nobody
 * renews what it took, and so it ends.
 */
final class Leases {

    private static final SecureRandom RANDOM = new SecureRandom();
    private static final int HOLDER_BYTES = 9;

    private final LimiterSettings settings;
    private final ConcurrencyLimit limit;
    private final ConcurrencyCalls calls;
    private final Unavailability unavailability;
    private final LeaseKeeper keeper;
    private final String holder = newHolder();
    private final AtomicLong numbers = new AtomicLong();

    /** Those of the share that this process gives out while Redis is away. */
    private final Map<Long, Lease> ofShare = new ConcurrentHashMap<>();

    /** @throws IllegalArgumentException if the lease is no whole number of microseconds */
    Leases(LimiterSettings settings, ConcurrencyLimit limit, ConcurrencyCalls calls, Unavailability unavailability) {
        this.settings = settings;
        this.limit = limit;
        this.calls = calls;
        this.unavailability = unavailability;
        this.keeper = new LeaseKeeper(settings, calls, limit.lease());
        HeldLease.of(holder, "", 0, 1, limit);
    }

    private static String newHolder() {
        byte[] bytes = new byte[HOLDER_BYTES];
        RANDOM.nextBytes(bytes);
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    LeaseKeeper keeper() {
        return keeper;
    }

    /** The decision; {@code owner} is what its debit belongs to. */
    Mono<Decision> take(Object owner, String key, long permits, boolean waits) {
        return Mono.defer(() -> {
            HeldLease lease = HeldLease.of(holder, key, numbers.incrementAndGet(), permits, limit);
            ConcurrencyAsk.Op op = waits ? ConcurrencyAsk.Op.TAKE_FOR_WAITER : ConcurrencyAsk.Op.TAKE;
            return calls.ask(key, ConcurrencyAsk.of(op, lease))
                    .map(answer -> {
                        if (!answer.done()) {
                            return Decision.deny(limit, permits, quota(answer), Decision.Quota.UNKNOWN);
                        }
                        keeper.keep(lease);
                        Debit debit = new Debit(owner, key, limit, permits, lease.number());
                        return Decision.allow(limit, quota(answer), debit);
                    })
                    .onErrorResume(RedisUnavailableException.class, away -> takeOfShare(owner, key, permits));
        });
    }

    Mono<Decision> look(String key, long permits) {
        return calls.ask(key, ConcurrencyAsk.look(permits))
                .map(answer -> answer.done()
                        ? Decision.wouldAllow(limit, permits, quota(answer))
                        : Decision.deny(limit, permits, quota(answer), Decision.Quota.UNKNOWN))
                .onErrorResume(RedisUnavailableException.class, away -> lookAtShare(key, permits));
    }

    private Decision.Quota quota(ConcurrencyReply.Answer answer) {
        boolean free = answer.remaining() == limit.max();
        return new Decision.Quota(limit.max(), answer.remaining(), free ? 0 : Decision.Quota.UNKNOWN);
    }

    private Mono<Decision> takeOfShare(Object owner, String key, long permits) {
        RateLimiter share = unavailability.share();
        if (share == null) {
            return unavailability.decide(key, limit, permits);
        }
        if (permits > share.policy().capacity()) {
            return Mono.fromSupplier(() -> unavailability.denied(limit, permits, Degradation.LOCAL));
        }
        return share.acquireLease(key, permits, Duration.ZERO)
                .map(lease -> {
                    long number = numbers.incrementAndGet();
                    ofShare.put(number, lease);
                    Debit debit = new Debit(owner, key, limit, permits, number);
                    Decision decision = Decision.allow(limit, quotaOf(lease.decision()), debit);
                    return unavailability.counted(decision, Degradation.LOCAL);
                })
                .onErrorResume(
                        RateLimitExceededException.class,
                        none -> Mono.just(unavailability.denied(limit, permits, Degradation.LOCAL)));
    }

    private Mono<Decision> lookAtShare(String key, long permits) {
        RateLimiter share = unavailability.share();
        if (share == null) {
            return unavailability.decide(key, limit, permits);
        }
        if (permits > share.policy().capacity()) {
            return Mono.fromSupplier(() -> unavailability.denied(limit, permits, Degradation.LOCAL));
        }
        return share.peek(key, permits).map(seen -> unavailability.counted(seen, Degradation.LOCAL));
    }

    private static Decision.Quota quotaOf(Decision decision) {
        return new Decision.Quota(decision.limit(), decision.remaining(), Decision.Quota.UNKNOWN);
    }

    Mono<Void> reset(String key) {
        return calls.ask(key, ConcurrencyAsk.reset())
                .doOnNext(done -> keeper.letGoOf(key))
                .then();
    }

    /** What cannot be given back is counted as lost, and ends by itself since nobody renews it. */
    Mono<Void> giveBack(Debit debit) {
        return Mono.defer(() -> {
            Lease local = ofShare.remove(debit.atTick());
            return local == null
                    ? giveBackToRedis(debit)
                    : local.release().doOnSuccess(done -> settings.recorder().counted(Event.REFUNDED, debit.permits()));
        });
    }

    private Mono<Void> giveBackToRedis(Debit debit) {
        boolean kept = keeper.letGo(debit.atTick());
        HeldLease lease = HeldLease.of(holder, debit.key(), debit.atTick(), debit.permits(), limit);
        return calls.ask(debit.key(), ConcurrencyAsk.of(ConcurrencyAsk.Op.GIVE_BACK, lease))
                .doOnNext(answer -> {
                    if (answer.done()) {
                        settings.recorder().counted(Event.REFUNDED, debit.permits());
                    } else if (kept) {
                        settings.recorder().counted(Event.LEASE_LOST, debit.permits());
                    }
                })
                .doOnError(lost -> settings.recorder().counted(Event.REFUND_LOST, debit.permits()))
                .onErrorComplete(RedisUnavailableException.class)
                .then();
    }
}
