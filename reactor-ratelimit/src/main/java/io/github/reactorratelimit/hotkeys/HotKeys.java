package io.github.reactorratelimit.hotkeys;

import io.github.reactorratelimit.KeyRecorder;
import io.github.reactorratelimit.hashing.KeyedHash;
import io.github.reactorratelimit.hashing.LateHash;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.function.ToLongFunction;
import reactor.core.publisher.Mono;

/**
 * The keys that take most permits and the keys that are denied most, in a fixed number of bytes.
 *
 * <pre>{@code
 * HotKeys hot = HotKeys.top(20);
 * RateLimiter limiter = RateLimiter.builder(policy).keyRecorder(hot).build();
 * hot.mostDenied()         // Mono<List<HotKey>>
 * hot.hashOf("alice")      // is she one of them?
 * }</pre>
 *
 * <p>No key is kept, only a keyed hash of 64 bits: who sees the hashes cannot try out keys, who has this object can.
 * The hash is another one in each process unless there is a {@linkplain #withSecret secret}.
 *
 * <p>Counts are permits since the start or the last {@link #clear()}, each with its bounds: the true count lies between them.
 * The more a key stands out, the surer it is found. May be shared by limiters that shall be counted together. Never blocks.
 */
public final class HotKeys implements KeyRecorder {

    private static final int MAX_TOP = 10_000;

    private final int top;
    private final ToLongFunction<String> hash;
    private final KeyCounter used;
    private final KeyCounter denied;

    private HotKeys(int top, ToLongFunction<String> hash) {
        this.top = top;
        this.hash = hash;
        this.used = new KeyCounter(top);
        this.denied = new KeyCounter(top);
    }

    /** Tells the first {@code top} keys of each kind, at most {@value #MAX_TOP}. */
    public static HotKeys top(int top) {
        if (top < 1 || top > MAX_TOP) {
            throw new IllegalArgumentException("top must be between 1 and " + MAX_TOP + ", was " + top);
        }
        return new HotKeys(top, new LateHash()::of);
    }

    /** The same with nothing counted yet, and hashes that are equal wherever the secret is: to compare instances. */
    public HotKeys withSecret(String secret) {
        if (Objects.requireNonNull(secret, "secret").isBlank()) {
            throw new IllegalArgumentException("secret must not be blank");
        }
        ByteBuffer seed = ByteBuffer.wrap(sha256().digest(secret.getBytes(StandardCharsets.UTF_8)));
        return new HotKeys(top, new KeyedHash(seed.getLong(), seed.getLong())::of);
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    @Override
    public void decided(String key, boolean allowed, long permits) {
        (allowed ? used : denied).add(hash.applyAsLong(key), permits);
    }

    /** The keys that took most permits, first the one that took most; what was refunded counts as taken. */
    public Mono<List<HotKey>> mostUsed() {
        return used.top(top);
    }

    /** The keys that were denied most permits, first the one that was denied most. */
    public Mono<List<HotKey>> mostDenied() {
        return denied.top(top);
    }

    /** What stands for a key in the lists. */
    public String hashOf(String key) {
        return HexFormat.of().toHexDigits(hash.applyAsLong(KeyRecorder.held(key)));
    }

    /** Starts counting anew. */
    public Mono<Void> clear() {
        return used.clear().then(denied.clear());
    }

    @Override
    public String toString() {
        return "HotKeys, the first " + top;
    }
}
