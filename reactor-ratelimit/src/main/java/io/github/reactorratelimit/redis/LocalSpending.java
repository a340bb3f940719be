package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder.Event;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Permits that the local share granted while Redis was unavailable. When Redis answers again each key is
 * charged with them once, at most with its capacity. A charge that may have run is not sent again: if it did
 * not, it is lost, and counted.
 */
final class LocalSpending {

    static final int MAX_KEYS = 10_000;

    private static final int CHARGES_AT_A_TIME = 64;

    /** Between two rounds, where keys are left because their node is still unavailable. */
    private static final long ROUND_EVERY_NANOS = Duration.ofMillis(100).toNanos();

    private record Spent(@Nullable RateLimitPolicy override, long permits) {}

    private final LimiterSettings settings;
    private final VersionedCommands commands;
    private final int maxKeys;
    private final Map<String, Spent> spent = new ConcurrentHashMap<>();
    private final AtomicBoolean charging = new AtomicBoolean();
    private volatile long notBeforeNanos;

    LocalSpending(LimiterSettings settings, VersionedCommands commands, int maxKeys) {
        this.settings = settings;
        this.commands = commands;
        this.maxKeys = maxKeys;
        this.notBeforeNanos = commands.now();
    }

    void add(String key, @Nullable RateLimitPolicy override, long permits) {
        if (spent.size() >= maxKeys && !spent.containsKey(key)) {
            settings.recorder().counted(Event.CHARGE_LOST, permits);
            return;
        }
        long capacity = commands.versions().policy(override).capacity();
        spent.merge(
                key,
                new Spent(override, Math.min(permits, capacity)),
                (before, more) -> new Spent(override, Math.min(before.permits() + more.permits(), capacity)));
    }

    /** Redis answers: keys that owe are charged, some at a time. */
    void charge() {
        if (spent.isEmpty() || commands.now() - notBeforeNanos < 0 || !charging.compareAndSet(false, true)) {
            return;
        }
        Flux.fromIterable(List.copyOf(spent.keySet()))
                .flatMap(this::charge, CHARGES_AT_A_TIME)
                .doOnTerminate(() -> {
                    notBeforeNanos = commands.now() + ROUND_EVERY_NANOS;
                    charging.set(false);
                })
                .subscribe();
    }

    /** If the key's node is still unavailable, what it owes is kept for the next time. */
    private Mono<Void> charge(String key) {
        return Mono.defer(() -> {
            Spent owed = commands.commands().isUnavailable(key) ? null : spent.remove(key);
            return owed == null ? Mono.empty() : charge(key, owed);
        });
    }

    private Mono<Void> charge(String key, Spent owed) {
        return commands.send(key, owed.override(), Command.chargeRemaining(owed.permits()))
                .doOnError(error -> {
                    if (error instanceof RedisUnavailableException unavailable && !unavailable.isUnanswered()) {
                        add(key, owed.override(), owed.permits());
                    } else {
                        settings.recorder().counted(Event.CHARGE_LOST, owed.permits());
                    }
                })
                .onErrorComplete()
                .then();
    }
}
