package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitRecorder.Event;
import io.github.reactorratelimit.algorithm.Tick;
import java.security.SecureRandom;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * The leases that this process holds in Redis. They are renewed three times in the time that a lease lasts,
 * also after the limiter was closed: their holders may still be at work. The next round is scheduled only
 * while there are leases.
 *
 * <p>The tick of a debit is the number of its lease. If the reply to a take does not come in time, the lease
 * may exist: it is not renewed, and so it expires.
 */
final class ConcurrencyLeases {

    private static final SecureRandom RANDOM = new SecureRandom();
    private static final int RENEWALS_PER_LEASE = 3;
    private static final int RENEWALS_AT_A_TIME = 256;

    private record Held(String key, long number, long permits) {}

    private final LimiterSettings settings;
    private final ConcurrencyLimit limit;
    private final LimiterCommands commands;
    private final ScriptPolicy policy;
    private final Consumer<String> freed;
    private final long leaseMicros;
    private final long everyNanos;
    private final String holder = Long.toString(RANDOM.nextLong() >>> 1, Character.MAX_RADIX);
    private final AtomicLong numbers = new AtomicLong();
    private final Map<Long, Held> held = new ConcurrentHashMap<>();
    private final AtomicBoolean scheduled = new AtomicBoolean();
    private final AtomicBoolean renewing = new AtomicBoolean();

    /**
     * @param freed called with a key whose permits came back while other processes have waiters for it
     * @throws IllegalArgumentException if the lease is no whole number of microseconds
     */
    ConcurrencyLeases(
            LimiterSettings settings, ConcurrencyLimit limit, LimiterCommands commands, Consumer<String> freed) {
        this.settings = settings;
        this.limit = limit;
        this.commands = commands;
        this.policy = ScriptPolicy.of(limit);
        this.freed = freed;
        this.leaseMicros = Tick.MICROSECOND.ticks("lease", limit.lease());
        this.everyNanos = Math.max(1, limit.lease().toNanos() / RENEWALS_PER_LEASE);
    }

    private String id(long number) {
        return holder + "." + number;
    }

    /** A number for a lease that is not in Redis. */
    long newNumber() {
        return numbers.incrementAndGet();
    }

    private Mono<CommandReply> send(String key, Command command) {
        return commands.send(key, policy, command).doOnNext(reply -> {
            if (reply.key().waiterExists()) {
                freed.accept(key);
            }
        });
    }

    /**
     * Takes a lease if its permits are there, and keeps it until it is released.
     *
     * @param owner what its debit belongs to
     */
    Mono<Decision> take(Object owner, String key, long permits, boolean forWaiter) {
        return Mono.defer(() -> {
            long number = newNumber();
            return send(key, Command.takeLease(id(number), permits, leaseMicros, forWaiter))
                    .map(reply -> {
                        if (!reply.allowed()) {
                            return Decision.deny(
                                    limit, permits, reply.remaining(), resetNanos(reply), Decision.UNKNOWN);
                        }
                        held.put(number, new Held(key, number, permits));
                        renewLater();
                        return Decision.allow(
                                limit,
                                reply.remaining(),
                                resetNanos(reply),
                                Decision.UNKNOWN,
                                new Debit(owner, key, limit, permits, number));
                    });
        });
    }

    /** What a take would answer. */
    Mono<Decision> peek(String key, long permits) {
        return send(key, Command.peek(permits))
                .map(reply -> reply.allowed()
                        ? Decision.wouldAllow(limit, permits, reply.remaining(), resetNanos(reply), Decision.UNKNOWN)
                        : Decision.deny(limit, permits, reply.remaining(), resetNanos(reply), Decision.UNKNOWN));
    }

    private long resetNanos(CommandReply reply) {
        return reply.remaining() == limit.max() ? 0 : Decision.UNKNOWN;
    }

    /** Ends all leases of a key. */
    Mono<Void> reset(String key) {
        return send(key, Command.reset())
                .doOnNext(done -> held.values().removeIf(lease -> lease.key().equals(key)))
                .then();
    }

    /** Releases a lease. If that fails, its permits count as lost; it expires, because it is not renewed. */
    Mono<Void> release(Debit debit) {
        return Mono.defer(() -> {
            boolean isKept = held.remove(debit.atTick()) != null;
            return send(debit.key(), Command.releaseLease(id(debit.atTick()), debit.permits(), leaseMicros))
                    .doOnNext(reply -> {
                        if (reply.allowed()) {
                            settings.recorder().counted(Event.REFUNDED, debit.permits());
                        } else if (isKept) {
                            settings.recorder().counted(Event.LEASE_LOST, debit.permits());
                        }
                    })
                    .doOnError(lost -> settings.recorder().counted(Event.REFUND_LOST, debit.permits()))
                    .onErrorComplete(RedisUnavailableException.class)
                    .then();
        });
    }

    /** Whether a renewal is scheduled. */
    boolean isRenewing() {
        return scheduled.get();
    }

    /** Nothing can be renewed if the scheduler was disposed, and with it the limiter. */
    private void renewLater() {
        if (!held.isEmpty() && scheduled.compareAndSet(false, true)) {
            try {
                settings.scheduler().schedule(this::renewAll, everyNanos, TimeUnit.NANOSECONDS);
            } catch (RejectedExecutionException gone) {
                scheduled.set(false);
            }
        }
    }

    /** A round that takes longer than the time between two is not overtaken by the next. */
    private void renewAll() {
        scheduled.set(false);
        renewLater();
        if (renewing.compareAndSet(false, true)) {
            Flux.fromIterable(List.copyOf(held.values()))
                    .flatMap(this::renew, RENEWALS_AT_A_TIME)
                    .doFinally(ended -> renewing.set(false))
                    .subscribe();
        }
    }

    /** What fails is tried again in the next round. */
    private Mono<Void> renew(Held lease) {
        if (!held.containsKey(lease.number())) {
            return Mono.empty();
        }
        return send(lease.key(), Command.renewLease(id(lease.number()), lease.permits(), leaseMicros))
                .doOnNext(reply -> {
                    if (!reply.allowed() && held.remove(lease.number()) != null) {
                        settings.recorder().counted(Event.LEASE_LOST, lease.permits());
                    }
                })
                .onErrorComplete()
                .then();
    }
}
