package io.github.reactorratelimit.hotkeys;

import io.github.reactorratelimit.KeyRecorder;
import io.github.reactorratelimit.local.KeyedHash;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import reactor.core.publisher.Mono;

/**
 * Finds the keys that use most permits and the keys that are denied most, in a fixed number of bytes.
 *
 * <pre>{@code
 * HotKeys hot = HotKeys.top(20);
 * RateLimiter limiter = RateLimiter.builder(policy).keyRecorder(hot).build();
 * hot.mostDenied()         // Mono<List<HotKey>>
 * hot.hashOf("alice")      // is she one of them?
 * }</pre>
 *
 * <p>It keeps no key, only a keyed hash of 64 bits. A reader of the hashes cannot test keys against them; a
 * holder of this object can. Each process has other hashes unless there is a {@linkplain #withSecret secret}.
 *
 * <p>Counts are permits since the start or the last {@link #clear()}, each with its bounds: the true count
 * lies between them. The more a key stands out, the surer it is found. Share one object between limiters to
 * count them together. Never blocks.
 */
public final class HotKeys implements KeyRecorder {

    private static final int MAX_TOP = 10_000;

    private final int top;
    private final KeyedHash hash;
    private final KeyCounter used;
    private final KeyCounter denied;

    private HotKeys(int top, KeyedHash hash) {
        this.top = top;
        this.hash = hash;
        this.used = new KeyCounter(top);
        this.denied = new KeyCounter(top);
    }

    /** Lists the first {@code top} keys of each kind, at most {@value #MAX_TOP}. */
    public static HotKeys top(int top) {
        if (top < 1 || top > MAX_TOP) {
            throw new IllegalArgumentException("top must be between 1 and " + MAX_TOP + ", was " + top);
        }
        return new HotKeys(top, new KeyedHash());
    }

    /** The same with no counts yet, and with hashes that are equal in all instances with this secret. */
    public HotKeys withSecret(String secret) {
        if (Objects.requireNonNull(secret, "secret").isBlank()) {
            throw new IllegalArgumentException("secret must not be blank");
        }
        ByteBuffer seed = ByteBuffer.wrap(sha256().digest(secret.getBytes(StandardCharsets.UTF_8)));
        return new HotKeys(top, new KeyedHash(seed.getLong(), seed.getLong()));
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
        (allowed ? used : denied).add(hash.of(key), permits);
    }

    /** The keys that used most permits, the hottest first; refunded permits count as used. */
    public Mono<List<HotKey>> mostUsed() {
        return used.top(top);
    }

    /** The keys that were denied most permits, the most denied first. */
    public Mono<List<HotKey>> mostDenied() {
        return denied.top(top);
    }

    /** The hash of a key, as in the lists. */
    public String hashOf(String key) {
        return HexFormat.of().toHexDigits(hash.of(KeyRecorder.held(key)));
    }

    /** Resets all counts. */
    public Mono<Void> clear() {
        return used.clear().then(denied.clear());
    }

    @Override
    public String toString() {
        return "HotKeys, the first " + top;
    }
}
