package io.github.reactorratelimit;

import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/**
 * Finds the policy of a key through the user's function and remembers the answer for a while. An
 * answer that changed is first carried over in the store, so that nothing spent is forgotten.
 */
final class PolicyResolver {

    static final int MAX_CACHED = 100_000;

    /** A resolver that never answers must not hold a request for ever. */
    static final Duration TIMEOUT = Duration.ofSeconds(5);

    private final Function<? super String, ? extends Mono<? extends RateLimitPolicy>> lookUp;
    private final long keepNanos;
    private final LimiterSettings settings;
    private final LimiterState state;
    private final Map<String, Known> known = new ConcurrentHashMap<>();

    /** An answer and until when, in nanoseconds of the scheduler's clock, it counts. */
    private record Known(RateLimitPolicy policy, long untilNanos) {}

    PolicyResolver(
            Function<? super String, ? extends Mono<? extends RateLimitPolicy>> lookUp,
            Duration keep,
            LimiterSettings settings,
            LimiterState state) {
        this.lookUp = lookUp;
        this.keepNanos = Nanos.ofWait("cacheFor", keep);
        this.settings = settings;
        this.state = state;
    }

    /** The policy if it is known now. */
    @Nullable
    RateLimitPolicy cached(String key) {
        Known entry = known.get(key);
        return entry == null || isStale(entry) ? null : entry.policy();
    }

    /** The policy, asked for if it is not known. */
    Mono<RateLimitPolicy> resolve(String key) {
        return Mono.defer(() -> {
            RateLimitPolicy cached = cached(key);
            return cached != null ? Mono.just(cached) : lookUp(key);
        });
    }

    private Mono<RateLimitPolicy> lookUp(String key) {
        Scheduler scheduler = settings.scheduler();
        return Mono.defer(() -> Objects.requireNonNull(lookUp.apply(key), "the policy resolver returned null"))
                .<RateLimitPolicy>map(policy -> policy)
                .timeout(TIMEOUT, scheduler)
                .defaultIfEmpty(settings.policy())
                .flatMap(policy -> remember(key, policy));
    }

    private Mono<RateLimitPolicy> remember(String key, RateLimitPolicy policy) {
        Known before = known.get(key);
        if (before == null && known.size() >= MAX_CACHED) {
            known.values().removeIf(this::isStale);
        }
        if (before != null || known.size() < MAX_CACHED) {
            long now = settings.scheduler().now(TimeUnit.NANOSECONDS);
            known.put(key, new Known(policy, Nanos.saturatedAdd(now, keepNanos)));
        }
        return before == null || before.policy().equals(policy)
                ? Mono.just(policy)
                : state.carry(key, before.policy(), policy).thenReturn(policy);
    }

    private boolean isStale(Known entry) {
        return settings.scheduler().now(TimeUnit.NANOSECONDS) >= entry.untilNanos();
    }
}
