package io.github.reactorratelimit;

import java.time.Duration;
import java.util.Iterator;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * Finds the policy of a key through the user's function and remembers the answer for a while. An
 * answer that changed is first carried over in the store, so that nothing spent is forgotten: for as many
 * keys as are remembered. Those who ask for the same key at the same time share one look-up, which is made
 * with the Context of the first and goes on if they leave.
 */
final class PolicyResolver {

    static final int MAX_CACHED = 100_000;

    /** A resolver that never answers must not hold a request for ever. */
    static final Duration TIMEOUT = Duration.ofSeconds(5);

    /** Entries that a look-up examines when the cache is full: a constant, whatever the size. */
    private static final int SWEPT_AT_A_TIME = 16;

    private final Function<? super String, ? extends Mono<? extends RateLimitPolicy>> lookUp;
    private final long keepNanos;
    private final LimiterSettings settings;
    private final LimiterState state;
    private final Map<String, Known> known = new ConcurrentHashMap<>();
    private final Map<String, Mono<RateLimitPolicy>> inFlight = new ConcurrentHashMap<>();
    private final AtomicBoolean sweeping = new AtomicBoolean();

    /** Where the sweep goes on; belongs to whoever set {@code sweeping}. */
    private Iterator<Map.Entry<String, Known>> sweep = known.entrySet().iterator();

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
        return entry == null || now() >= entry.untilNanos() ? null : entry.policy();
    }

    /** The policy, asked for if it is not known. */
    Mono<RateLimitPolicy> resolve(String key) {
        return Mono.defer(() -> {
            RateLimitPolicy cached = cached(key);
            return cached != null ? Mono.just(cached) : inFlight.computeIfAbsent(key, this::sharedLookUp);
        });
    }

    /** The policy, or empty if that takes longer; without any time, what is there at once. */
    Mono<Optional<RateLimitPolicy>> resolveWithin(String key, long nanos) {
        Mono<Optional<RateLimitPolicy>> found = resolve(key).map(Optional::of);
        if (nanos >= TIMEOUT.toNanos()) {
            return found;
        }
        Mono<Optional<RateLimitPolicy>> late = Mono.just(Optional.empty());
        return Mono.firstWithSignal(
                found,
                nanos <= 0
                        ? late
                        : Mono.delay(Duration.ofNanos(nanos), settings.scheduler())
                                .then(late));
    }

    int cachedKeys() {
        return known.size();
    }

    private Mono<RateLimitPolicy> sharedLookUp(String key) {
        return Mono.defer(() -> {
                    // Another look-up may have ended between the caller's glance at the cache and this one.
                    RateLimitPolicy cached = cached(key);
                    return cached != null ? Mono.just(cached) : lookUp(key);
                })
                // Before anybody hears of it, so that whoever asks again because of an error looks up again.
                .doOnTerminate(() -> inFlight.remove(key))
                .cache();
    }

    private Mono<RateLimitPolicy> lookUp(String key) {
        return Mono.defer(() -> Objects.requireNonNull(lookUp.apply(key), "the policy resolver returned null"))
                .<RateLimitPolicy>map(this::accepted)
                .timeout(TIMEOUT, settings.scheduler())
                .defaultIfEmpty(settings.policy())
                .flatMap(policy -> carried(key, policy).then(Mono.fromSupplier(() -> remembered(key, policy))));
    }

    /** Permits in flight cannot be carried: those of the old limit and of a new one would run side by side. */
    private RateLimitPolicy accepted(RateLimitPolicy policy) {
        if (policy instanceof ConcurrencyLimit && !policy.equals(settings.policy())) {
            throw new IllegalStateException("the policy resolver returned " + policy + ", but limiter '"
                    + settings.name() + "' has " + settings.policy() + ": a ConcurrencyLimit cannot differ by key;"
                    + " use a limiter for each");
        }
        return policy;
    }

    private Mono<Void> carried(String key, RateLimitPolicy policy) {
        Known before = known.get(key);
        return before == null || before.policy().equals(policy)
                ? Mono.empty()
                : state.carry(key, before.policy(), policy);
    }

    private RateLimitPolicy remembered(String key, RateLimitPolicy policy) {
        long now = now();
        if (known.size() >= MAX_CACHED && !known.containsKey(key)) {
            sweepSome(now);
            if (known.size() >= MAX_CACHED) {
                return policy;
            }
        }
        known.put(key, new Known(policy, Nanos.saturatedAdd(now, keepNanos)));
        return policy;
    }

    private void sweepSome(long now) {
        if (!sweeping.compareAndSet(false, true)) {
            return;
        }
        if (!sweep.hasNext()) {
            sweep = known.entrySet().iterator();
        }
        for (int i = 0; i < SWEPT_AT_A_TIME && sweep.hasNext(); i++) {
            Map.Entry<String, Known> entry = sweep.next();
            if (now >= entry.getValue().untilNanos()) {
                known.remove(entry.getKey(), entry.getValue());
            }
        }
        sweeping.set(false);
    }

    private long now() {
        return settings.scheduler().now(TimeUnit.NANOSECONDS);
    }
}
