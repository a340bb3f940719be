package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder.Event;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * What was given out here while Redis was away. When it answers again each key is charged with that once, at
 * most with its capacity. A charge that may have run is not sent again: if it did not, it is lost, and counted.
 */
final class LocalSpending {

    static final int MAX_KEYS = 10_000;

    private static final int CHARGES_AT_A_TIME = 8;

    /** Under the policy that the key had in Redis. */
    private record Spent(RateLimitPolicy policy, long permits) {}

    private final LimiterSettings settings;
    private final RedisCalls calls;
    private final int maxKeys;
    private final Map<String, Spent> spent = new ConcurrentHashMap<>();
    private final AtomicBoolean charging = new AtomicBoolean();

    LocalSpending(LimiterSettings settings, RedisCalls calls, int maxKeys) {
        this.settings = settings;
        this.calls = calls;
        this.maxKeys = maxKeys;
    }

    void add(String key, RateLimitPolicy policy, long permits) {
        if (spent.size() >= maxKeys && !spent.containsKey(key)) {
            settings.recorder().counted(Event.CHARGE_LOST, permits);
            return;
        }
        spent.compute(key, (name, before) -> more(before, policy, permits));
    }

    private static Spent more(@Nullable Spent before, RateLimitPolicy policy, long permits) {
        long sum = before == null ? permits : before.permits() + permits;
        return new Spent(policy, Math.min(sum, policy.capacity()));
    }

    /** Redis answers: those who owe are charged, a few at a time. */
    void charge() {
        if (spent.isEmpty() || !charging.compareAndSet(false, true)) {
            return;
        }
        Flux.fromIterable(List.copyOf(spent.keySet()))
                .flatMap(this::charge, CHARGES_AT_A_TIME)
                .doOnTerminate(() -> charging.set(false))
                .subscribe();
    }

    /** If Redis is away again, what was not taken out of the map is kept for the next time. */
    private Mono<Void> charge(String key) {
        return Mono.defer(() -> {
            Spent owed = calls.breaker().isOpen() ? null : spent.remove(key);
            return owed == null ? Mono.empty() : charge(key, owed);
        });
    }

    private Mono<Void> charge(String key, Spent owed) {
        return calls.decide(this, key, owed.policy(), Ask.charge(owed.permits()))
                .doOnError(lost -> settings.recorder().counted(Event.CHARGE_LOST, owed.permits()))
                .onErrorComplete()
                .then();
    }
}
