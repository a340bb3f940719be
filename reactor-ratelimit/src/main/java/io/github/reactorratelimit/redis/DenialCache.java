package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Tick;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLongArray;
import org.jspecify.annotations.Nullable;

/**
 * Denials that still hold. A request of at least the denied cost is denied without a call until Redis would
 * allow what was denied, and at most for a second. Of a GCRA or token bucket the {@link KnownDebt} is kept
 * instead. What this process refunds or changes ends a denial; what other processes refund is noticed by a
 * signal, or after that second.
 *
 * <p>Keys share generations by their hash. {@link #forget} begins a new one, and a denial counts only in the
 * generation that was read before its call was sent: so it also forgets what a call in flight brings. A key
 * that shares the generation sends one call more than it had to.
 */
final class DenialCache {

    static final int MAX_ENTRIES = 131_072;

    private static final int GENERATIONS = 4_096;

    /** Entries that a denial examines when the cache is full. */
    private static final int EXAMINED_AT_A_TIME = 16;

    private final int maxEntries;
    private final Map<String, KnownDenial> entries = new ConcurrentHashMap<>();
    private final AtomicLongArray generations = new AtomicLongArray(GENERATIONS);
    private final AtomicBoolean evicting = new AtomicBoolean();

    /** Where eviction goes on; belongs to the thread that set {@code evicting}. */
    private Iterator<Map.Entry<String, KnownDenial>> cursor = entries.entrySet().iterator();

    /**
     * @param policy the key's
     * @param part the part of the policy that denied
     * @param untilNanos counted from before the call was sent, so never later than Redis would allow it
     * @param retryAtNanos when the denied caller comes back
     * @param resetAtNanos {@link Decision.Quota#UNKNOWN} if it cannot be known
     */
    private record Denial(
            long generation,
            ScriptPolicy policy,
            RateLimitPolicy part,
            long permits,
            long remaining,
            long untilNanos,
            long retryAtNanos,
            long resetAtNanos)
            implements KnownDenial {

        static Denial of(CommandReply reply, long generation, long sentNanos, long nowNanos) {
            long waitNanos = Tick.MICROSECOND.toNanos(reply.waitMicros());
            return new Denial(
                    generation,
                    reply.policy(),
                    reply.binding(),
                    reply.command().permits(),
                    reply.remaining(),
                    nowNanos + Math.min(KnownDenial.KEEP_NANOS, waitNanos - (nowNanos - sentNanos)),
                    nowNanos + waitNanos,
                    reply.resetMicros() == Algorithm.UNKNOWN
                            ? Decision.Quota.UNKNOWN
                            : nowNanos + Tick.MICROSECOND.toNanos(reply.resetMicros()));
        }

        @Override
        public boolean isOver(long nowNanos) {
            return untilNanos - nowNanos <= 0;
        }

        @Override
        public @Nullable Decision deny(long requested, long missing, long nowNanos) {
            if (missing < permits) {
                return null;
            }
            long resetAfter = resetAtNanos == Decision.Quota.UNKNOWN
                    ? Decision.Quota.UNKNOWN
                    : Math.max(1, resetAtNanos - nowNanos);
            return Decision.deny(
                    part, requested, part.capacity(), remaining, resetAfter, Math.max(1, retryAtNanos - nowNanos));
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
        return generations.get(cell(key));
    }

    /** What is known of a key: if nothing is, there is no need to read the clock. */
    @Nullable
    KnownDenial known(String key) {
        return entries.isEmpty() ? null : entries.get(key);
    }

    /**
     * Denies {@code permits} if Redis would deny the {@code missing} ones, which are not prepaid; else null.
     */
    @Nullable
    Decision deny(KnownDenial known, String key, ScriptPolicy policy, long permits, long missing, long nowNanos) {
        if (known.isOver(nowNanos) || known.generation() != generation(key)) {
            entries.remove(key, known);
            return null;
        }
        return known.policy() == policy ? known.deny(permits, missing, nowNanos) : null;
    }

    /** Where a request that is about to be sent claims its cost, if anywhere. */
    @Nullable
    KnownDebt debt(String key, ScriptPolicy policy) {
        return known(key) instanceof KnownDebt debt && debt.policy() == policy ? debt : null;
    }

    /**
     * Learns the reply to an acquire. A denial is kept; a grant ends a denial, whose time has changed.
     *
     * @param generation read before the call was sent
     * @param sentNanos a time before the call was sent
     */
    void learn(String key, CommandReply reply, long generation, long sentNanos, long nowNanos) {
        if (reply.policy().bucketRate() != null && reply.key().pauseEndMicros() == 0) {
            learnDebt(key, reply, generation, sentNanos, nowNanos);
        } else if (reply.allowed()) {
            remove(key);
        } else if (reply.waitMicros() != Algorithm.UNKNOWN) {
            Denial denial = Denial.of(reply, generation, sentNanos, nowNanos);
            if (!denial.isOver(nowNanos) && generation == generation(key) && hasRoom(key, nowNanos)) {
                entries.put(key, denial);
            }
        }
    }

    private void learnDebt(String key, CommandReply reply, long generation, long sentNanos, long nowNanos) {
        KnownDenial known = entries.get(key);
        if (reply.allowed()
                && (known == null || reply.remaining() > reply.binding().capacity() / 2)) {
            if (known != null) {
                entries.remove(key, known);
            }
        } else if (generation == generation(key)) {
            if (known instanceof KnownDebt debt && debt.policy() == reply.policy()) {
                debt.learn(generation, reply.resetMicros(), sentNanos, nowNanos);
            } else if (hasRoom(key, nowNanos)) {
                entries.put(key, new KnownDebt(reply.policy(), generation, reply.resetMicros(), sentNanos, nowNanos));
            }
        }
    }

    /** Whether there is something that a grant could end. */
    boolean isEmpty() {
        return entries.isEmpty();
    }

    /** The key may have more than was denied: forgets what is known, and what calls in flight will say. */
    void forget(String key) {
        generations.incrementAndGet(cell(key));
        remove(key);
    }

    private void remove(String key) {
        if (entries.containsKey(key)) {
            entries.remove(key);
        }
    }

    /** {@link #forget} for every key. */
    void forgetAll() {
        for (int cell = 0; cell < GENERATIONS; cell++) {
            generations.incrementAndGet(cell);
        }
        entries.clear();
    }

    int size() {
        return entries.size();
    }

    private boolean hasRoom(String key, long nowNanos) {
        if (entries.size() < maxEntries || entries.containsKey(key)) {
            return true;
        }
        evictSome(nowNanos);
        return entries.size() < maxEntries;
    }

    private void evictSome(long nowNanos) {
        if (!evicting.compareAndSet(false, true)) {
            return;
        }
        if (!cursor.hasNext()) {
            cursor = entries.entrySet().iterator();
        }
        for (int i = 0; i < EXAMINED_AT_A_TIME && cursor.hasNext(); i++) {
            Map.Entry<String, KnownDenial> entry = cursor.next();
            if (entry.getValue().isOver(nowNanos)) {
                entries.remove(entry.getKey(), entry.getValue());
            }
        }
        evicting.set(false);
    }

    private static int cell(String key) {
        int hash = key.hashCode() * 0x9E3779B9;
        return hash >>> 20;
    }
}
