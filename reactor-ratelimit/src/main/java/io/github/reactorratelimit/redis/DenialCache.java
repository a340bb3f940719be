package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import java.time.Duration;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLongArray;
import org.jspecify.annotations.Nullable;

/**
 * Denials that are still true: asks of at least their cost are denied without a call, until Redis would
 * allow what was denied, and at most for a second. Where it is known what a key owes, that is its {@link Level}. A denial does not outlive what this process gives back or
 * changes; what others give back is noticed after that second, or by a signal.
 *
 * <p>Keys share generations by their hash. {@link #forget} begins a new one, and a denial counts only in the
 * generation that was read before its call: so what a call under way brings is forgotten too. A key that
 * shares the generation asks once more than it had to.
 */
final class DenialCache {

    static final int MAX_ENTRIES = 131_072;
    static final long KEEP_NANOS = Duration.ofSeconds(1).toNanos();

    private static final int GENERATIONS = 4_096;

    /** Entries that a denial examines when the cache is full: a constant, whatever the size. */
    private static final int SWEPT_AT_A_TIME = 16;

    private final int maxEntries;
    private final Map<String, Entry> denials = new ConcurrentHashMap<>();
    private final AtomicLongArray generations = new AtomicLongArray(GENERATIONS);
    private final AtomicBoolean sweeping = new AtomicBoolean();

    /** Where the sweep goes on; belongs to whoever set {@code sweeping}. */
    private Iterator<Map.Entry<String, Entry>> sweep = denials.entrySet().iterator();

    /** What is known of a key. */
    interface Entry {

        /** Which it was learned in. */
        long generation();

        boolean isOver(long nowNanos);

        /** Of the key. */
        RateLimitPolicy policy();

        /** Denies {@code permits} if Redis would deny {@code asked} of them, else null. */
        @Nullable
        Decision deny(long permits, long asked, long nowNanos);
    }

    /**
     * @param policy of the key
     * @param part of the policy that denied
     * @param untilNanos counted from before the call was sent, so never later than Redis would allow it
     * @param retryAtNanos when the caller that was denied will come back, as is the next
     * @param resetAtNanos {@link Decision.Quota#UNKNOWN} if nobody can know
     */
    private record Denied(
            long generation,
            RateLimitPolicy policy,
            RateLimitPolicy part,
            long permits,
            long remaining,
            long untilNanos,
            long retryAtNanos,
            long resetAtNanos)
            implements Entry {

        @Override
        public boolean isOver(long nowNanos) {
            return untilNanos - nowNanos <= 0;
        }

        @Override
        public @Nullable Decision deny(long asking, long asked, long nowNanos) {
            if (asked < permits) {
                return null;
            }
            long resetAfter = resetAtNanos == Decision.Quota.UNKNOWN
                    ? Decision.Quota.UNKNOWN
                    : Math.max(1, resetAtNanos - nowNanos);
            Decision.Quota quota = new Decision.Quota(part.capacity(), remaining, resetAfter);
            return Decision.deny(part, asking, quota, Math.max(1, retryAtNanos - nowNanos));
        }
    }

    DenialCache() {
        this(MAX_ENTRIES);
    }

    DenialCache(int maxEntries) {
        this.maxEntries = maxEntries;
    }

    /** To be read before a call is sent. */
    long generation(String key) {
        return generations.get(slot(key));
    }

    /** Denies {@code permits} if it is known that Redis would deny {@code asked} of them, else null. */
    @Nullable
    Decision find(String key, RateLimitPolicy policy, long permits, long asked, long nowNanos) {
        Entry known = known(key);
        return known == null ? null : find(known, key, policy, permits, asked, nowNanos);
    }

    /** What is known of a key. */
    @Nullable
    Entry known(String key) {
        return denials.isEmpty() ? null : denials.get(key);
    }

    /** As above, of what is {@linkplain #known known}: who finds nothing needs not read the clock. */
    @Nullable
    Decision find(Entry known, String key, RateLimitPolicy policy, long permits, long asked, long nowNanos) {
        if (known.isOver(nowNanos) || known.generation() != generation(key)) {
            denials.remove(key, known);
            return null;
        }
        return isSame(policy, known.policy()) ? known.deny(permits, asked, nowNanos) : null;
    }

    private static boolean isSame(RateLimitPolicy policy, RateLimitPolicy other) {
        return policy == other || policy.equals(other);
    }

    /**
     * What Redis decided; a denial is kept, and what was allowed ends a dearer denial, whose time has changed.
     *
     * @param generation read before the call was sent, at {@code sentNanos}
     */
    void learn(String key, RateLimitPolicy policy, Decision decided, long generation, long sentNanos, long nowNanos) {
        if (decided.allowed()) {
            if (denials.containsKey(key)) {
                denials.remove(key);
            }
            return;
        }
        Duration retryAfter = decided.retryAfter().orElse(null);
        if (retryAfter == null || policy.needsRelease()) {
            return;
        }
        long waitNanos = retryAfter.toNanos();
        Denied denied = new Denied(
                generation,
                policy,
                decided.policy(),
                decided.permits(),
                decided.remaining(),
                nowNanos + Math.min(KEEP_NANOS, waitNanos - (nowNanos - sentNanos)),
                nowNanos + waitNanos,
                decided.resetAfter().map(reset -> nowNanos + reset.toNanos()).orElse(Decision.Quota.UNKNOWN));
        if (!denied.isOver(nowNanos) && generation == generation(key) && hasRoom(key, nowNanos)) {
            denials.put(key, denied);
        }
    }

    /**
     * What a key owes after takes, some of which may have been denied.
     *
     * @param generation read before their call was sent, at {@code sentNanos}
     */
    void learnLevel(
            String key,
            TakeTerms terms,
            long owedParts,
            boolean denied,
            long generation,
            long sentNanos,
            long nowNanos) {
        Entry known = denials.get(key);
        if (!denied && (known == null || owedParts < terms.mostParts() / 2)) {
            if (known != null) {
                denials.remove(key, known);
            }
        } else if (generation == generation(key)) {
            if (known instanceof Level level && level.isOf(terms)) {
                level.learn(generation, owedParts, sentNanos, nowNanos);
            } else if (hasRoom(key, nowNanos)) {
                denials.put(key, new Level(terms, generation, owedParts, sentNanos, nowNanos));
            }
        }
    }

    /** Where takes that are about to be asked for have to be claimed, if anywhere. */
    @Nullable
    Level level(String key, TakeTerms terms) {
        return known(key) instanceof Level level && level.isOf(terms) ? level : null;
    }

    /** The key may have more than was denied: forgets what is known, and what calls under way will say. */
    void forget(String key) {
        generations.incrementAndGet(slot(key));
        if (denials.containsKey(key)) {
            denials.remove(key);
        }
    }

    /** {@link #forget} for every key. */
    void forgetAll() {
        for (int slot = 0; slot < GENERATIONS; slot++) {
            generations.incrementAndGet(slot);
        }
        denials.clear();
    }

    int size() {
        return denials.size();
    }

    private boolean hasRoom(String key, long nowNanos) {
        if (denials.size() < maxEntries || denials.containsKey(key)) {
            return true;
        }
        sweepSome(nowNanos);
        return denials.size() < maxEntries;
    }

    private void sweepSome(long nowNanos) {
        if (!sweeping.compareAndSet(false, true)) {
            return;
        }
        if (!sweep.hasNext()) {
            sweep = denials.entrySet().iterator();
        }
        for (int i = 0; i < SWEPT_AT_A_TIME && sweep.hasNext(); i++) {
            Map.Entry<String, Entry> entry = sweep.next();
            if (entry.getValue().isOver(nowNanos)) {
                denials.remove(entry.getKey(), entry.getValue());
            }
        }
        sweeping.set(false);
    }

    private static int slot(String key) {
        int hash = key.hashCode() * 0x9E3779B9;
        return hash >>> 20;
    }
}
