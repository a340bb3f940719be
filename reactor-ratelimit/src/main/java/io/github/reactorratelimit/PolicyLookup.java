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
 * The only place that knows which policy applies to a key: the limiter's policy in effect, or an override
 * that the user's resolver gave for the key.
 *
 * <p>Overrides are cached for a while. If the answer for a cached key changes, its usage first moves to the
 * new policy in the store, so that nothing spent is lost. Concurrent requests for one key share a look-up: it
 * uses the Context of the first and continues if they cancel.
 */
final class PolicyLookup {

    static final int MAX_CACHED = 100_000;

    /** A resolver that never answers must not hold a request for ever. */
    static final Duration TIMEOUT = Duration.ofSeconds(5);

    /** Entries that a look-up examines when the cache is full: a constant, whatever the size. */
    private static final int EXAMINED_AT_ONCE = 16;

    /** The expiry of a key whose usage moves, or could not be moved: it must not be evicted before it has. */
    private static final long MIGRATING = Long.MIN_VALUE;

    /**
     * The policy of a key, and how a state is asked for it.
     *
     * @param override null if the key follows the limiter's policy
     * @param capacity the policy's; a field, because asking the policy costs more where there are many kinds
     * @param needsRelease the policy's
     */
    record KeyPolicy(RateLimitPolicy policy, @Nullable RateLimitPolicy override, long capacity, boolean needsRelease) {

        private static KeyPolicy of(RateLimitPolicy policy, @Nullable RateLimitPolicy override) {
            return new KeyPolicy(policy, override, policy.capacity(), policy.needsRelease());
        }
    }

    /**
     * An answer, valid until then on the scheduler's clock.
     *
     * @param override null if the key follows the limiter's policy
     */
    private record Known(@Nullable KeyPolicy override, long untilNanos) {

        @Nullable
        RateLimitPolicy overridden() {
            return override == null ? null : override.policy;
        }
    }

    private final LimiterSettings settings;
    private final LimiterState state;
    private final @Nullable Function<? super String, ? extends Mono<? extends RateLimitPolicy>> resolver;
    private final long keepNanos;
    private final Map<String, Known> known = new ConcurrentHashMap<>();
    private final Map<String, LookUp> inFlight = new ConcurrentHashMap<>();
    private final AtomicBoolean evicting = new AtomicBoolean();

    /** Where eviction continues; belongs to the thread that set {@code evicting}. */
    private Iterator<Map.Entry<String, Known>> cursor = known.entrySet().iterator();

    private volatile KeyPolicy ofAll;

    /** @param resolver gives the policy of a key; null if all keys have the limiter's */
    PolicyLookup(
            LimiterSettings settings,
            LimiterState state,
            @Nullable Function<? super String, ? extends Mono<? extends RateLimitPolicy>> resolver,
            Duration cacheFor) {
        this.settings = settings;
        this.state = state;
        this.resolver = resolver;
        this.keepNanos = Saturated.nanos(cacheFor);
        this.ofAll = KeyPolicy.of(settings.policy(), null);
        state.onPolicyChange(policy -> ofAll = KeyPolicy.of(policy, null));
    }

    /** Whether keys may have overrides. */
    boolean isPerKey() {
        return resolver != null;
    }

    /** The limiter's policy in effect. */
    KeyPolicy ofAll() {
        return ofAll;
    }

    /** The policy of a key if it is known now. */
    @Nullable
    KeyPolicy now(String key) {
        return resolver == null ? ofAll : cached(key);
    }

    private @Nullable KeyPolicy cached(String key) {
        Known entry = known.get(key);
        return entry == null || nowNanos() >= entry.untilNanos ? null : of(entry);
    }

    private KeyPolicy of(Known entry) {
        return entry.override == null ? ofAll : entry.override;
    }

    /** The policy of a key, looked up if it is not known. */
    Mono<KeyPolicy> find(String key) {
        return Mono.defer(() -> {
            KeyPolicy now = now(key);
            return now != null
                    ? Mono.just(now)
                    : inFlight.computeIfAbsent(key, name -> new LookUp(name, null, false)).answer;
        });
    }

    /** As {@link #find}; if the resolver fails, the policy that the key had last, as far as that is known. */
    Mono<KeyPolicy> findOrLast(String key) {
        return find(key).onErrorResume(failed -> {
            Known last = known.get(key);
            return Mono.just(last == null ? ofAll : of(last));
        });
    }

    /** As {@link #find}; empty if that takes longer. Without any time only what is known at once. */
    Mono<Optional<KeyPolicy>> findWithin(String key, long nanos) {
        Mono<Optional<KeyPolicy>> found = find(key).map(Optional::of);
        if (nanos >= TIMEOUT.toNanos()) {
            return found;
        }
        Mono<Optional<KeyPolicy>> late = Mono.just(Optional.empty());
        return nanos <= 0
                ? Mono.firstWithSignal(found, late)
                : found.timeout(Duration.ofNanos(nanos), late, settings.scheduler());
    }

    /** Asks the resolver again, whatever is cached, by a look-up that begins now or later. */
    Mono<KeyPolicy> refresh(String key) {
        return Mono.defer(() -> inFlight.compute(
                        key,
                        (name, last) -> last != null && last.again && !last.begun ? last : new LookUp(name, last, true))
                .answer);
    }

    /**
     * Whether a key is known to have another policy than a debit. Its usage then moved to that policy, under
     * which a refund would be worth something else.
     */
    boolean isReplaced(Debit debit) {
        Known entry = resolver == null || debit.policy().needsRelease() ? null : known.get(debit.key());
        return entry != null && !of(entry).policy().equals(debit.policy());
    }

    int cachedKeys() {
        return known.size();
    }

    /**
     * One call of the resolver, shared by all who wait for its answer. Look-ups of a key follow each other.
     */
    private final class LookUp {

        final Mono<KeyPolicy> answer;

        /** Whether it asks the resolver whatever is cached. */
        final boolean again;

        /** Whether the resolver may have been called: a refresh that comes later needs another call. */
        volatile boolean begun;

        LookUp(String key, @Nullable LookUp before, boolean again) {
            this.again = again;
            Mono<Void> turn =
                    before == null ? Mono.empty() : before.answer.then().onErrorComplete();
            this.answer = turn.then(Mono.defer(() -> {
                        begun = true;
                        // Another look-up may have ended since the caller looked at the cache.
                        KeyPolicy cached = again ? null : cached(key);
                        return cached != null ? Mono.just(cached) : resolve(key);
                    }))
                    // Before the answer is delivered, so that a caller that retries after an error looks up again.
                    .doOnTerminate(() -> inFlight.remove(key, this))
                    .cache();
        }
    }

    private Mono<KeyPolicy> resolve(String key) {
        var asked = Objects.requireNonNull(resolver, "resolver");
        return Mono.defer(() -> Objects.requireNonNull(asked.apply(key), "the policy resolver returned null"))
                .<Optional<RateLimitPolicy>>map(this::override)
                .timeout(TIMEOUT, settings.scheduler())
                .defaultIfEmpty(Optional.empty())
                .flatMap(override -> migrated(key, override.orElse(null)));
    }

    /**
     * Empty if the key follows the limiter. Permits in flight cannot move: those of two limits would run side
     * by side.
     */
    private Optional<RateLimitPolicy> override(RateLimitPolicy policy) {
        if (policy.equals(settings.policy())) {
            return Optional.empty();
        }
        if (policy.needsRelease()) {
            throw new IllegalStateException("the policy resolver returned " + policy + ", but limiter '"
                    + settings.name() + "' has " + settings.policy() + ": a ConcurrencyLimit cannot differ by key;"
                    + " use a limiter for each");
        }
        return Optional.of(policy);
    }

    /** While usage moves, the cache no longer gives the policy before: requests wait for the new one. */
    private Mono<KeyPolicy> migrated(String key, @Nullable RateLimitPolicy to) {
        Known next = new Known(to == null ? null : KeyPolicy.of(to, to), Saturated.plus(nowNanos(), keepNanos));
        Mono<KeyPolicy> remembered = Mono.fromSupplier(() -> remember(key, next));
        Known before = known.get(key);
        if (before == null || Objects.equals(before.overridden(), to)) {
            return remembered;
        }
        known.put(key, new Known(before.override, MIGRATING));
        return state.migrate(key, before.overridden(), to).then(remembered);
    }

    private KeyPolicy remember(String key, Known next) {
        if (known.size() >= MAX_CACHED && !known.containsKey(key)) {
            evictSome(nowNanos());
        }
        if (known.size() < MAX_CACHED || known.containsKey(key)) {
            known.put(key, next);
        }
        return of(next);
    }

    private void evictSome(long now) {
        if (!evicting.compareAndSet(false, true)) {
            return;
        }
        if (!cursor.hasNext()) {
            cursor = known.entrySet().iterator();
        }
        for (int i = 0; i < EXAMINED_AT_ONCE && cursor.hasNext(); i++) {
            Map.Entry<String, Known> entry = cursor.next();
            if (now >= entry.getValue().untilNanos && entry.getValue().untilNanos != MIGRATING) {
                known.remove(entry.getKey(), entry.getValue());
            }
        }
        evicting.set(false);
    }

    private long nowNanos() {
        return settings.scheduler().now(TimeUnit.NANOSECONDS);
    }
}
