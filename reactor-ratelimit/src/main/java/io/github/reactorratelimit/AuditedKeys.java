package io.github.reactorratelimit;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * The keys that are audited: those whose hash ends in so many zeros that they are few enough. One that knows nothing that
 * matters is forgotten first. A key is audited from the first time it is seen, or never: so what it spent is known.
 */
final class AuditedKeys {

    private final int most;
    private final LimiterSettings settings;
    private final LimiterState live;
    private final long startNanos;
    private final Map<String, AuditedKey> keys = new ConcurrentHashMap<>();
    private final AtomicBoolean sweeping = new AtomicBoolean();

    /** Nobody can choose keys that are all audited, or none. */
    private final ToLongFunction<String> hash;

    private volatile long mask;
    private volatile int reign;

    AuditedKeys(int most, LimiterSettings settings, LimiterState live, ToLongFunction<String> hash) {
        this.hash = hash;
        this.most = most;
        this.settings = settings;
        this.live = live;
        this.startNanos = now();
    }

    long now() {
        return settings.scheduler().now(TimeUnit.NANOSECONDS);
    }

    long startNanos() {
        return startNanos;
    }

    RateLimitRecorder recorder() {
        return settings.recorder();
    }

    /** Whether everybody who takes permits of these keys is seen. */
    boolean seesAll() {
        return !live.isShared();
    }

    int reign() {
        return reign;
    }

    @SuppressWarnings("NonAtomicVolatileUpdate") // one listener, called by one at a time; any other value will do
    void ruledAnew() {
        reign++;
    }

    /** Whether nothing else can have ruled since a request named the policy. */
    boolean stillRules(String key, RateLimitPolicy policy, int sinceReign) {
        return reign == sinceReign && ruling(key, policy).equals(policy);
    }

    private RateLimitPolicy ruling(String key, RateLimitPolicy named) {
        RateLimitPolicy own = live.ownPolicy(key);
        return own == null ? live.ruling(named) : own;
    }

    boolean isSampled(String key) {
        return (hash.applyAsLong(key) & mask) == 0;
    }

    /** A request is about to be made; null if its key is not audited. */
    AuditedKey.@Nullable Ask begin(String key, RateLimitPolicy policy, long permits, long atMost) {
        return isSampled(key) ? beginSampled(key, ruling(key, policy), permits, atMost) : null;
    }

    /** Something else is about to change the key; null if that is not audited. */
    AuditedKey.@Nullable Ask beginChange(String key) {
        return isSampled(key) ? beginSampled(key, null, 0, 0) : null;
    }

    private AuditedKey.Ask beginSampled(String key, @Nullable RateLimitPolicy policy, long permits, long atMost) {
        for (; ; ) {
            AuditedKey known = keys.get(key);
            AuditedKey found = known == null ? keys.computeIfAbsent(key, name -> new AuditedKey(this, name)) : known;
            AuditedKey.Ask ask = found.begin(policy, permits, atMost);
            if (ask != null) {
                if (known == null) {
                    makeRoom();
                }
                return ask;
            }
            remove(key, found);
        }
    }

    /** Permits are about to come back. */
    void cameBack(Debit debit) {
        AuditedKey found = keys.get(debit.key());
        if (found != null) {
            found.cameBack(ruling(debit.key(), debit.policy()), debit.permits());
        }
    }

    void remove(String key, AuditedKey gone) {
        keys.remove(key, gone);
    }

    int size() {
        return keys.size();
    }

    private void makeRoom() {
        if (keys.size() <= most || !sweeping.compareAndSet(false, true)) {
            return;
        }
        keys.values().forEach(AuditedKey::retireIfIdle);
        while (keys.size() > most - most / 4) {
            mask = (mask << 1) | 1;
            keys.keySet().removeIf(key -> !isSampled(key));
            if (mask == -1) {
                break;
            }
        }
        sweeping.set(false);
    }
}
