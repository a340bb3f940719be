package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Tick;
import java.time.Duration;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import org.jspecify.annotations.Nullable;

/**
 * Denials that still hold. A request of at least the denied cost is denied without a call until Redis would
 * allow what was denied, and at most for a second. What this process refunds or changes ends a denial; what
 * other processes refund is noticed by a signal, or after that second.
 *
 * <p>If a key was denied and Redis then allows a request, its reply says until when it will deny more than what
 * remains. Of a GCRA or token bucket it is also known how the wait grows with the cost; there requests in flight
 * count as granted. So an overloaded key sends Redis about as many requests as can succeed.
 *
 * <p>Keys share generations by their hash. {@link #forget} begins a new one, and a denial counts only in the
 * generation that was read before its call was sent: so it also forgets what a call in flight brings. A key
 * that shares the generation sends one call more than it had to.
 */
final class DenialCache {

    static final int MAX_ENTRIES = 131_072;

    /** The longest time for which a denial is used. */
    static final long KEEP_NANOS = Duration.ofSeconds(1).toNanos();

    private static final long NANOS_PER_MICRO = 1_000;

    private static final int GENERATIONS = 4_096;

    /** Entries that a denial examines when the cache is full. */
    private static final int EXAMINED_AT_A_TIME = 16;

    private final int maxEntries;
    private final Map<String, Known> entries = new ConcurrentHashMap<>();
    private final AtomicLongArray generations = new AtomicLongArray(GENERATIONS);
    private final AtomicBoolean evicting = new AtomicBoolean();

    /** Where eviction goes on; belongs to the thread that set {@code evicting}. */
    private Iterator<Map.Entry<String, Known>> cursor = entries.entrySet().iterator();

    /**
     * What a reply says about later requests.
     *
     * @param policy the key's
     * @param part the part of the policy that denies
     * @param rate by which the wait grows with the cost; null if that is not known: of a policy that is no
     *     GCRA or token bucket, or in a pause
     * @param permits the lowest cost that Redis would deny
     * @param availableNanos until when, counted from before the call was sent: so never later than Redis
     *     would allow it
     * @param retryAtNanos when a caller of that cost comes back
     * @param resetAtNanos {@link Decision#UNKNOWN} if it cannot be known
     */
    private record Denial(
            long generation,
            ScriptPolicy policy,
            RateLimitPolicy part,
            @Nullable BucketRate rate,
            long permits,
            long remaining,
            long cameNanos,
            long availableNanos,
            long retryAtNanos,
            long resetAtNanos) {

        /** Null if the reply denies nothing for a known time, or the key has plenty again. */
        static @Nullable Denial of(CommandReply reply, long generation, long sentNanos, long nowNanos) {
            boolean allowed = reply.allowed();
            long waitMicros = allowed ? reply.moreMicros() : reply.waitMicros();
            boolean hasPlenty = allowed && reply.remaining() > reply.binding().capacity() / 2;
            if (waitMicros == Algorithm.UNKNOWN || hasPlenty) {
                return null;
            }
            long waitNanos = Tick.MICROSECOND.toNanos(waitMicros);
            long resetMicros = reply.resetMicros();
            return new Denial(
                    generation,
                    reply.policy(),
                    reply.binding(),
                    reply.key().pauseEndMicros() == 0 ? reply.policy().bucketRate() : null,
                    allowed ? reply.remaining() + 1 : reply.command().permits(),
                    reply.remaining(),
                    nowNanos,
                    sentNanos + waitNanos,
                    nowNanos + waitNanos,
                    resetMicros == Algorithm.UNKNOWN
                            ? Decision.UNKNOWN
                            : nowNanos + Tick.MICROSECOND.toNanos(resetMicros));
        }

        boolean isOld(long nowNanos) {
            return nowNanos - cameNanos >= KEEP_NANOS;
        }

        /** @param ahead permits that requests in flight may take first */
        @Nullable
        Decision deny(long requested, long missing, long ahead, long nowNanos) {
            long more = missing + (rate == null ? 0 : ahead) - permits;
            boolean isDenied = more >= 0 || rate != null;
            if (!isDenied || nowNanos - availableNanos - floorNanos(more) >= 0) {
                return null;
            }
            // Rounded up.
            long retryAfter = retryAtNanos - floorNanos(-more) - nowNanos;
            long resetAfter = resetAtNanos - floorNanos(-ahead) - nowNanos;
            return Decision.deny(
                    part,
                    requested,
                    Math.max(0, remaining - ahead),
                    resetAtNanos == Decision.UNKNOWN ? Decision.UNKNOWN : Math.max(1, resetAfter),
                    Math.max(1, retryAfter));
        }

        /** How much longer so many more permits take, in whole microseconds; 0 if it is not known. */
        private long floorNanos(long more) {
            BucketRate known = rate;
            return known == null ? 0 : NANOS_PER_MICRO * Math.floorDiv(known.costParts(more), known.partsPerTick());
        }
    }

    /**
     * What is known of a key, and how many permits requests in flight claim. Where other processes use the key
     * too, such a request may be denied because of them: then a denial behind it is early, by less than a
     * round trip.
     *
     * <p>A request drops its claim before its reply is learned, so a debit never counts twice; it may be
     * missing for a moment, which costs a call.
     */
    static final class Known {

        private final AtomicLong claimed = new AtomicLong();

        /** The most that a claim was for since the key is known. */
        private final AtomicLong dearest = new AtomicLong();

        private volatile Denial denial;

        private Known(Denial denial) {
            this.denial = denial;
        }

        private void claim(long permits) {
            dearest.accumulateAndGet(permits, Math::max);
            claimed.addAndGet(permits);
        }

        void release(long permits) {
            claimed.addAndGet(-permits);
        }

        /** A dearer request in flight may be denied though this one will not be: only cheaper ones count. */
        private @Nullable Decision deny(long permits, long missing, long nowNanos) {
            // Read before it is known whether a dearer one is among them.
            long claims = claimed.get();
            return denial.deny(permits, missing, missing >= dearest.get() ? claims : 0, nowNanos);
        }
    }

    DenialCache() {
        this(MAX_ENTRIES);
    }

    /** @param maxEntries 0 if nothing is kept */
    DenialCache(int maxEntries) {
        this.maxEntries = maxEntries;
    }

    /** To be read before a call is sent. */
    long generation(String key) {
        return generations.get(cell(key));
    }

    /** What is known of a key: if nothing is, there is no need to read the clock. */
    @Nullable
    Known known(String key) {
        return entries.isEmpty() ? null : entries.get(key);
    }

    /**
     * Denies {@code permits} if Redis would deny the {@code missing} ones, which are not prepaid; else null.
     */
    @Nullable
    Decision deny(Known known, String key, ScriptPolicy policy, long permits, long missing, long nowNanos) {
        Denial denial = known.denial;
        if (denial.isOld(nowNanos) || denial.generation() != generation(key)) {
            entries.remove(key, known);
            return null;
        }
        return denial.policy() == policy ? known.deny(permits, missing, nowNanos) : null;
    }

    /** Claims the permits of a request that is about to be sent; null if nothing is known of the key. */
    @Nullable
    Known claim(String key, ScriptPolicy policy, long permits) {
        Known known = known(key);
        Denial denial = known == null ? null : known.denial;
        if (known == null || denial == null || denial.policy() != policy || denial.rate() == null) {
            return null;
        }
        known.claim(permits);
        return known;
    }

    /** Whether the reply to an acquire tells anything worth knowing: a denial, or a grant that may end one. */
    boolean learnsFrom(CommandReply reply) {
        return !reply.allowed() || !entries.isEmpty();
    }

    /**
     * Learns the reply to an acquire. A denial is kept; a grant ends a denial, whose time has changed.
     *
     * @param generation read before the call was sent
     * @param sentNanos a time before the call was sent
     */
    void learn(String key, CommandReply reply, long generation, long sentNanos, long nowNanos) {
        Known known = entries.get(key);
        if (reply.allowed() && known == null) {
            return;
        }
        Denial denial = Denial.of(reply, generation, sentNanos, nowNanos);
        if (denial != null && generation == generation(key) && hasRoom(key, nowNanos)) {
            if (known != null && known.denial.policy() == reply.policy()) {
                known.denial = denial;
            } else {
                entries.put(key, new Known(denial));
            }
        } else if (reply.allowed()) {
            entries.remove(key);
        }
    }

    /** The key may have more than was denied: forgets what is known, and what calls in flight will say. */
    void forget(String key) {
        generations.incrementAndGet(cell(key));
        entries.remove(key);
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
            Map.Entry<String, Known> entry = cursor.next();
            Denial denial = entry.getValue().denial;
            if (denial.isOld(nowNanos) || nowNanos - denial.availableNanos() >= 0) {
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
