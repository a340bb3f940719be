package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitPolicy;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * The leases of one limiter. Permits are debited in Redis first, a batch at a time, and spent here within the
 * lease time of their debit, counted from before the call that debited them was sent; what is not spent by
 * then goes back. So nothing is spent that was not debited, and what is spent in a time W was debited in W
 * and the lease time before it.
 *
 * <p>An instance holds at most a quarter of the capacity of a key, and purses for a bounded number of keys;
 * others are asked for in Redis. A key is leased when Redis was asked for it twice within the lease time.
 */
final class Purses {

    static final int MAX_PURSES = 10_000;

    private static final int SWEEPS_PER_LEASE = 4;

    /** What purses need of the state that they belong to. */
    interface Till {

        /** Takes in Redis. */
        Mono<Decision> take(String key, RateLimitPolicy policy, long permits);

        /** Gives back to Redis what was not spent; {@code done} runs if it is back. */
        Mono<Void> giveBack(Debit unspent, Runnable done);
    }

    private final LimiterSettings settings;
    private final Till till;
    private final Object owner;
    private final long leaseNanos;
    private final LeaseTraffic traffic;
    private final Map<String, Purse> purses = new ConcurrentHashMap<>();
    private final AtomicBoolean sweeping = new AtomicBoolean();

    /** @param owner what the debits of its decisions belong to */
    Purses(LimiterSettings settings, RedisCalls calls, Till till, Object owner, Duration leaseTime) {
        this.settings = settings;
        this.till = till;
        this.owner = owner;
        this.leaseNanos = leaseTime.toNanos();
        this.traffic = new LeaseTraffic(settings, calls, owner, till::giveBack, leaseNanos);
    }

    private long now() {
        return settings.scheduler().now(TimeUnit.NANOSECONDS);
    }

    /** Permits of the key that are here. */
    long left(String key, RateLimitPolicy policy) {
        Purse purse = purses.get(key);
        return purse == null || !purse.isOf(policy) ? 0 : purse.left();
    }

    int size() {
        return purses.size();
    }

    /** Spends permits that are here; no allocation unless a batch has to be asked for. */
    boolean spendNow(String key, RateLimitPolicy policy, long permits) {
        Purse purse = purses.get(key);
        return purse != null && spendNow(purse, policy, permits);
    }

    /** Spends permits that are here, or null. */
    @Nullable
    Decision spend(String key, RateLimitPolicy policy, long permits) {
        Purse purse = purses.get(key);
        return purse == null ? null : spend(purse, policy, permits);
    }

    private boolean spendNow(Purse purse, RateLimitPolicy policy, long permits) {
        Batch batch = purse.isOf(policy) ? purse.take(permits) : null;
        while (batch != null && !mayBeSpent(purse, batch, permits, now())) {
            batch = purse.take(permits);
        }
        return batch != null;
    }

    private @Nullable Decision spend(Purse purse, RateLimitPolicy policy, long permits) {
        Batch batch = purse.isOf(policy) ? purse.take(permits) : null;
        for (; batch != null; batch = purse.take(permits)) {
            long now = now();
            if (mayBeSpent(purse, batch, permits, now)) {
                return allow(purse, permits, batch.atMicros(), now);
            }
        }
        return null;
    }

    /**
     * Of permits that were taken out of a batch; else they go back. The clock is read after they were taken: what it says then decides,
     * however long the thread was held up.
     */
    private boolean mayBeSpent(Purse purse, Batch batch, long permits, long now) {
        if (!batch.isOver(now, leaseNanos)) {
            if (purse.isLow(now)) {
                traffic.refill(purse, now);
            }
            return true;
        }
        traffic.giveBack(purse, permits, batch);
        traffic.giveBackRest(purse, List.of(batch));
        return false;
    }

    private Decision allow(Purse purse, long permits, long atMicros, long now) {
        return Decision.allow(
                purse.part(), purse.quota(now), new Debit(owner, purse.key(), purse.policy(), permits, atMicros));
    }

    /** Asks Redis for what is not here. */
    Mono<Decision> take(String key, RateLimitPolicy policy, long permits) {
        long now = now();
        Purse purse = purse(key, policy, now);
        if (purse == null) {
            return till.take(key, policy, permits);
        }
        purse.asked(now);
        return take(purse, permits, true);
    }

    /** Whether an ask that needs Redis finds nothing here: then it needs no other permits than those it takes there. */
    boolean takesAlone(String key, RateLimitPolicy policy) {
        long now = now();
        Purse purse = purse(key, policy, now);
        if (purse == null) {
            return true;
        }
        if (purse.left() > 0) {
            return false;
        }
        purse.asked(now);
        return true;
    }

    /**
     * What Redis decided on an ask that took alone, together with what is here by now; null if both together may be enough.
     * What was under way to the purse and came before the ask is here, since answers come in the order of the calls.
     */
    @Nullable
    Decision tookAlone(String key, RateLimitPolicy policy, Decision decided) {
        Purse purse = purses.get(key);
        if (purse == null || !purse.isOf(policy)) {
            return decided;
        }
        long permits = decided.permits();
        if (decided.allowed()) {
            long now = now();
            learn(purse, decided, now);
            return allow(purse, permits, decided.debit().orElseThrow().atTick(), now);
        }
        Decision spent = spend(purse, policy, permits);
        if (spent != null) {
            return spent;
        }
        long left = purse.left();
        return left == 0 ? decided : left + decided.remaining() >= permits ? null : deny(permits, decided, left);
    }

    /** What Redis has beside what is here; some of it is worth a lease if the key is in demand. */
    private void learn(Purse purse, Decision granted, long now) {
        long resetAt = granted.resetAfter().map(reset -> now + reset.toNanos()).orElse(Decision.Quota.UNKNOWN);
        purse.learn(granted.policy(), granted.remaining(), resetAt);
        if (purse.isHot() && granted.remaining() > 0 && purse.isLow(now)) {
            traffic.refill(purse, now);
        }
    }

    private static Decision deny(long permits, Decision decided, long left) {
        return Decision.deny(decided.policy(), permits, quota(decided, left), nanos(decided.retryAfter()));
    }

    private @Nullable Purse purse(String key, RateLimitPolicy policy, long now) {
        Purse known = purses.get(key);
        if (known == null
                && purses.size() < MAX_PURSES
                && Purse.most(policy) > 0
                && Leasable.is(policy)
                && !traffic.isClosed()) {
            known = purses.computeIfAbsent(key, name -> new Purse(name, policy, leaseNanos, now));
            sweepLater();
        }
        return known != null && known.isOf(policy) ? known : null;
    }

    private Mono<Decision> take(Purse purse, long permits, boolean mayTryAgain) {
        Held held = purse.hold(permits);
        long missing = permits - held.permits();
        if (missing == 0) {
            return spendHeld(purse, held, permits);
        }
        return till.take(purse.key(), purse.policy(), missing)
                .flatMap(decision -> decision.allowed()
                        ? granted(purse, held, permits, decision)
                        : denied(purse, held, permits, decision, mayTryAgain))
                .doOnError(failed -> putBack(purse, held))
                .doOnCancel(() -> putBack(purse, held));
    }

    private Mono<Decision> spendHeld(Purse purse, Held held, long permits) {
        if (held.claim()) {
            long now = now();
            if (!held.isOver(now, leaseNanos)) {
                return Mono.just(allow(purse, permits, held.firstMicros(Long.MAX_VALUE), now));
            }
        }
        traffic.giveBack(purse, held);
        return till.take(purse.key(), purse.policy(), permits);
    }

    private Mono<Decision> granted(Purse purse, Held held, long permits, Decision decision) {
        long now = now();
        Debit debit = decision.debit().orElseThrow();
        if (!held.claim()) {
            return till.giveBack(debit, () -> {}).then(Mono.empty());
        }
        if (held.isOver(now, leaseNanos)) {
            traffic.giveBack(purse, held);
            return till.giveBack(debit, () -> {}).then(till.take(purse.key(), purse.policy(), permits));
        }
        learn(purse, decision, now);
        return Mono.just(allow(purse, permits, held.firstMicros(debit.atTick()), now));
    }

    /** What was under way to the purse has come before this denial, since answers come in the order of the asks. */
    private Mono<Decision> denied(Purse purse, Held held, long permits, Decision decision, boolean mayTryAgain) {
        putBack(purse, held);
        Decision spent = spend(purse, purse.policy(), permits);
        if (spent != null) {
            return Mono.just(spent);
        }
        long left = purse.left();
        if (mayTryAgain && left > held.permits() && left + decision.remaining() >= permits) {
            return take(purse, permits, false);
        }
        return Mono.just(deny(permits, decision, left));
    }

    private void putBack(Purse purse, Held held) {
        if (held.claim()) {
            for (Held.Part part : held.parts()) {
                if (!part.batch().putBack(part.permits())) {
                    traffic.giveBack(purse, part.permits(), part.batch());
                }
            }
        }
    }

    /** What a take would answer; {@code redis} decides on a look. */
    Mono<Decision> look(String key, RateLimitPolicy policy, long permits, Function<Ask, Mono<Decision>> redis) {
        return redis.apply(Ask.look(Math.max(1, permits - left(key, policy)))).map(seen -> {
            long left = left(key, policy);
            Decision.Quota quota = quota(seen, left);
            return seen.remaining() + left >= permits
                    ? Decision.wouldAllow(seen.policy(), permits, quota)
                    : Decision.deny(seen.policy(), permits, quota, nanos(seen.retryAfter()));
        });
    }

    private static Decision.Quota quota(Decision seen, long left) {
        return new Decision.Quota(seen.limit(), seen.remaining() + left, nanos(seen.resetAfter()));
    }

    private static long nanos(Optional<Duration> time) {
        return time.map(Duration::toNanos).orElse(Decision.Quota.UNKNOWN);
    }

    /** Gives back what is here of a key. */
    void giveBackAll(String key) {
        Purse purse = purses.get(key);
        if (purse != null) {
            traffic.giveBackRest(purse, purse.empty());
        }
    }

    /** Forgets what is here of a key: it was debited from a state that is no more. */
    void drop(String key) {
        Purse purse = purses.get(key);
        if (purse != null) {
            purse.empty().forEach(Batch::close);
        }
    }

    /** Another policy rules, under which what was debited is spent: it is lost for every key. */
    void dropAll() {
        for (Purse purse : purses.values()) {
            traffic.lose(purse.empty());
        }
    }

    /** Gives back all that is here and all that is still under way, then completes. */
    Mono<Void> close() {
        return traffic.close(purses.values()).doOnTerminate(purses::clear);
    }

    /** One task is pending while there are purses, and none otherwise. */
    private void sweepLater() {
        if (!purses.isEmpty() && !traffic.isClosed() && sweeping.compareAndSet(false, true)) {
            try {
                long sweepNanos = Math.max(1, leaseNanos / SWEEPS_PER_LEASE);
                settings.scheduler().schedule(this::sweep, sweepNanos, TimeUnit.NANOSECONDS);
            } catch (RejectedExecutionException noTimer) {
                // Without one nothing would go back in time: from now on Redis is asked for everything.
                close().subscribe();
            }
        }
    }

    private void sweep() {
        long now = now();
        purses.values().removeIf(purse -> {
            traffic.giveBackRest(purse, purse.outdated(now));
            boolean retired = purse.retire(now);
            if (retired) {
                traffic.giveBackRest(purse, purse.empty());
            }
            return retired;
        });
        sweeping.set(false);
        sweepLater();
    }
}
