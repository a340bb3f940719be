package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.PermitsExceedCapacityException;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder.Event;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * Acquires and refunds permits for the keys of one limiter. A request is decided by the first that can:
 * prepaid permits, a known denial, Redis, or the fallback while Redis is unavailable. Replies come on the
 * connection's thread.
 */
final class RedisPermits {

    private final LimiterSettings settings;
    private final VersionedCommands commands;
    private final RedisQueues queues;
    private final SignalChannel signals;
    private final Object owner;
    private final FailureFallback fallback;
    private final LocalSpending spending;
    private final DenialCache denials;
    private final PrepaidPermits prepaid;
    private final SlotsToFree slots;
    private final long instance = ThreadLocalRandom.current().nextLong(1, 1L << 32);

    /** @param owner what debits belong to */
    RedisPermits(
            LimiterSettings settings,
            StoreOptions options,
            VersionedCommands commands,
            RedisQueues queues,
            SignalChannel signals,
            Object owner) {
        this.settings = settings;
        this.commands = commands;
        this.queues = queues;
        this.signals = signals;
        this.owner = owner;
        this.fallback = new FailureFallback(settings, options.failureMode(), commands.commands()::pauseLeft);
        this.spending = new LocalSpending(settings, commands, LocalSpending.MAX_KEYS);
        this.denials = new DenialCache(options.denialCache() ? DenialCache.MAX_ENTRIES : 0);
        this.prepaid = new PrepaidPermits(settings, commands, owner, this::sendRefund, options.leaseTime());
        this.slots = new SlotsToFree(settings, commands.commands(), this::sendFree);
    }

    long now() {
        return commands.now();
    }

    Object owner() {
        return owner;
    }

    /** Tells the slots of this limiter in this process from those of others. */
    long instance() {
        return instance;
    }

    FailureFallback fallback() {
        return fallback;
    }

    VersionedCommands commands() {
        return commands;
    }

    DenialCache denials() {
        return denials;
    }

    PrepaidPermits prepaid() {
        return prepaid;
    }

    /** The policy of a key; null stands for the limiter's. */
    RateLimitPolicy policy(@Nullable RateLimitPolicy override) {
        return commands.versions().policy(override);
    }

    /** Sends a command that needs no other care than the policy in effect. */
    Mono<CommandReply> send(String key, @Nullable RateLimitPolicy override, Command command) {
        return commands.send(key, override, command).doOnNext(reply -> redisAnswered());
    }

    private void redisAnswered() {
        if (fallback.share() != null) {
            spending.charge();
        }
    }

    /** Reserves a slot. If the reply comes after the deadline, the slot is freed. */
    Mono<CommandReply> reserve(String key, @Nullable RateLimitPolicy override, Command reserve) {
        return commands.send(key, override, reserve, late -> freeLateSlot(key, late))
                .doOnNext(reply -> redisAnswered());
    }

    /** It may be earlier than one that was reserved since. */
    private void freeLateSlot(String key, CommandReply reserved) {
        if (reserved.allowed()) {
            freeSlot(key, reserved);
            queues.freed(key);
        }
    }

    /** Spends prepaid permits; null if there are not so many. */
    @Nullable
    Decision spendPrepaid(String key, @Nullable RateLimitPolicy override, long permits) {
        return prepaid.spend(key, commands.versions().script(override), permits);
    }

    /** Decides without a call; null if only Redis knows. */
    @Nullable
    Decision decideNow(String key, ScriptPolicy policy, long permits) {
        Decision spent = prepaid.spend(key, policy, permits);
        DenialCache.Known known = spent == null ? denials.known(key) : null;
        return known == null
                ? spent
                : denials.deny(known, key, policy, permits, permits - prepaid.left(key, policy), now());
    }

    /**
     * The decision of Redis on an acquire, together with prepaid permits. Null if both together may be
     * enough in Redis: then the prepaid ones are refunded, and the request is sent {@linkplain #acquireAgain again}.
     *
     * @param generation {@linkplain DenialCache#generation read} before the call was sent
     * @param sentNanos a time before the call was sent
     */
    @Nullable
    Decision decided(
            String key, @Nullable RateLimitPolicy override, CommandReply reply, long generation, long sentNanos) {
        // Before a batch is requested: what remains in Redis still counts the permits of that batch.
        long left = prepaid.left(key, reply.policy());
        learn(key, override, reply, generation, sentNanos);
        long permits = reply.command().permits();
        Decision spent = reply.allowed() ? null : prepaid.spend(key, reply.policy(), permits);
        if (spent != null) {
            return spent;
        }
        boolean mayBeEnough = left > 0 && !reply.allowed() && left + reply.remaining() >= permits;
        return mayBeEnough ? null : reply.toDecision(owner, key, left);
    }

    /** Learns from the reply to an acquire; permits of a key that is used a lot are prepaid from now on. */
    void learn(String key, @Nullable RateLimitPolicy override, CommandReply reply, long generation, long sentNanos) {
        learn(key, reply, generation, sentNanos);
        if (reply.allowed()) {
            prepaid.granted(key, override, reply);
        }
    }

    /** Learns from the reply to an acquire together with others. */
    void learn(String key, CommandReply reply, long generation, long sentNanos) {
        redisAnswered();
        commands.commands().clock().compare(reply.key().nowMicros(), sentNanos);
        if (denials.learnsFrom(reply)) {
            denials.learn(key, reply, generation, sentNanos, now());
        }
    }

    /** Acquires in Redis, whatever is known or prepaid. */
    Mono<Decision> acquire(String key, @Nullable RateLimitPolicy override, long permits, Consumer<CommandReply> learn) {
        return decide(send(key, override, Command.acquire(permits)).doOnNext(learn), key, override, permits);
    }

    /**
     * Acquires in Redis once more, under this version of the policy or a newer one.
     *
     * @param startNanos when the request began: its deadline counts from then
     */
    Mono<Decision> acquireAgain(
            String key, @Nullable RateLimitPolicy override, long permits, long startNanos, long version) {
        Mono<CommandReply> reply = commands.sendWithin(startNanos, version, key, override, Command.acquire(permits));
        return decide(reply.doOnNext(come -> redisAnswered()), key, override, permits);
    }

    private Mono<Decision> decide(
            Mono<CommandReply> reply, String key, @Nullable RateLimitPolicy override, long permits) {
        return reply.map(come -> come.toDecision(owner, key))
                .onErrorResume(RedisUnavailableException.class, error -> degraded(key, override, permits));
    }

    /** Acquires without Redis. */
    Mono<Decision> degraded(String key, @Nullable RateLimitPolicy override, long permits) {
        return fallback.decide(key, policy(override), permits, () -> spending.add(key, override, permits));
    }

    /** What an acquire would answer. The prepaid permits count if no waiter could need them. */
    Mono<Decision> peek(String key, @Nullable RateLimitPolicy override, long permits) {
        return Mono.defer(() -> {
                    ScriptPolicy policy = commands.versions().script(override);
                    long left = queues.hasWaiters(key) ? 0 : prepaid.left(key, policy);
                    return send(key, override, Command.peek(Math.max(1, permits - left)))
                            .map(reply -> peeked(reply, permits, left));
                })
                .onErrorResume(RedisUnavailableException.class, error -> fallback.peek(key, policy(override), permits));
    }

    private static Decision peeked(CommandReply reply, long permits, long left) {
        long remaining = reply.remaining() + left;
        return reply.allowed() || (left > 0 && remaining >= permits)
                ? Decision.wouldAllow(reply.binding(), permits, remaining, reply.resetNanos(), reply.moreNanos())
                : Decision.deny(reply.binding(), permits, remaining, reply.resetNanos(), reply.waitNanos());
    }

    /**
     * Denies a request that may not overtake waiters which Redis does not know of: at least until the whole
     * limit is there.
     */
    Mono<Decision> denyBehindWaiters(String key, @Nullable RateLimitPolicy override, long permits) {
        return Mono.defer(
                        () -> send(key, override, Command.peek(policy(override).capacity())))
                .onErrorResume(
                        PermitsExceedCapacityException.class,
                        changed -> send(key, override, Command.peek(changed.capacity())))
                .map(reply -> peeked(reply, permits, 0))
                .onErrorResume(RedisUnavailableException.class, error -> fallback.peek(key, policy(override), permits))
                .map(seen -> {
                    long alone = seen.retryAfter().map(Duration::toNanos).orElse(1L);
                    Decision denied = Decision.deny(seen.policy(), permits, 0, alone, alone);
                    return seen.degradation().map(denied::asDegraded).orElse(denied);
                });
    }

    /** Refunds a debit. Permits that cannot come back are counted as lost. */
    Mono<Void> refund(Debit debit) {
        return sendRefund(debit)
                .doOnNext(lost -> {
                    count(Event.REFUND_LOST, lost);
                    count(Event.REFUNDED, debit.permits() - lost);
                })
                .doOnError(failed -> count(Event.REFUND_LOST, debit.permits()))
                .onErrorComplete(RedisUnavailableException.class)
                .then();
    }

    private void count(Event event, long permits) {
        if (permits > 0) {
            settings.recorder().counted(event, permits);
        }
    }

    /** Refunds a debit, and says how many of its permits are lost. */
    private Mono<Long> sendRefund(Debit debit) {
        String key = debit.key();
        Command refund = Command.refund(debit.permits(), debit.atTick());
        return commands.commands()
                .settling(changing(key, commands.sendUnlessReplaced(debit.policy(), key, refund)))
                .doOnNext(reply -> {
                    queues.freed(key);
                    signals.publish(SignalChannel.Kind.FREED, key);
                })
                .map(CommandReply::count)
                .defaultIfEmpty(debit.permits());
    }

    /** Refunds an unused debit without waiting for it. */
    void refundAside(Debit debit) {
        refund(debit).subscribe(done -> {}, counted -> {});
    }

    /** Refunds the debit of a decision that was not delivered. */
    void refundUnused(Decision unused) {
        unused.debit().filter(Debit::claim).ifPresent(this::refundAside);
    }

    /** Frees a slot that lies ahead. One that cannot be freed passes unused. */
    void freeSlot(String key, CommandReply reserved) {
        slots.free(key, reserved);
    }

    private Mono<CommandReply> sendFree(SlotsToFree.Slot slot) {
        String key = slot.key();
        return commands.commands()
                .settling(changing(key, commands.sendUnlessReplaced(slot.policy(), key, slot.free())))
                .doOnNext(freed -> signals.publish(SignalChannel.Kind.FREED, key));
    }

    /**
     * The key may have more than was known: from before the command is sent, because a later one finds it
     * done, until it ended. A command that was given up may still run.
     */
    <T> Mono<T> changing(String key, Mono<T> change) {
        return Mono.defer(() -> {
            denials.forget(key);
            return change.doOnTerminate(() -> denials.forget(key)).doOnCancel(() -> denials.forget(key));
        });
    }

    /** Another policy is in effect: nothing that is known of any key holds. */
    void policyChanged(RateLimitPolicy policy) {
        fallback.follow(policy);
        denials.forgetAll();
        prepaid.loseAll();
    }

    /** Refunds what was prepaid; completes when everything that was sent has ended. */
    Mono<Void> close() {
        return prepaid.close()
                .then(Mono.fromRunnable(slots::close))
                .then(commands.commands().idle())
                .then(fallback.close());
    }
}
