package io.github.reactorratelimit;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Objects;

/**
 * Checks a user's key and keeps it small: a key of up to {@value #MAX_PLAIN_CHARS} characters stays as it is,
 * a longer one becomes a digest, so that a key costs a bounded number of bytes. Different keys stay
 * different: a key that looks like a digest is digested too.
 */
final class Keys {

    private static final int MAX_PLAIN_CHARS = 1_024;

    /** UTF-8 bytes above which a key is a mistake. */
    private static final int MAX_BYTES = 64 * 1024;

    private static final int MAX_BYTES_PER_CHAR = 3;
    private static final String DIGEST_PREFIX = "sha256:";

    private Keys() {}

    static String normalise(String key) {
        int chars = Objects.requireNonNull(key, "key").length();
        if (chars == 0) {
            throw new IllegalArgumentException("key must not be empty");
        }
        return chars <= MAX_PLAIN_CHARS && !looksLikeDigest(key) ? key : digestChecked(key);
    }

    /** The first character decides for most keys, on a path where nanoseconds count. */
    private static boolean looksLikeDigest(String key) {
        return key.charAt(0) == DIGEST_PREFIX.charAt(0) && key.startsWith(DIGEST_PREFIX);
    }

    private static String digestChecked(String key) {
        if (key.length() > MAX_BYTES) {
            throw tooLong(key.length() + " characters");
        }
        int bytes = utf8Bytes(key);
        if (bytes > MAX_BYTES) {
            throw tooLong(bytes + " bytes");
        }
        return digest(key);
    }

    /** A normalised key in at most so many bytes of UTF-8: itself or its digest. */
    static String shortened(String key, int maxBytes) {
        boolean fits = key.length() <= maxBytes / MAX_BYTES_PER_CHAR || utf8Bytes(key) <= maxBytes;
        return fits ? key : digest(key);
    }

    private static IllegalArgumentException tooLong(String was) {
        return new IllegalArgumentException("key must be at most 64 KiB, was " + was);
    }

    /** A lone surrogate counts 3 bytes, as if it could be encoded. */
    private static int utf8Bytes(String key) {
        int bytes = 0;
        for (int i = 0; i < key.length(); ) {
            int codePoint = key.codePointAt(i);
            i += Character.charCount(codePoint);
            bytes += codePoint < 0x80 ? 1 : codePoint < 0x800 ? 2 : codePoint < 0x10000 ? 3 : 4;
        }
        return bytes;
    }

    /** Over UTF-16, because UTF-8 turns every lone surrogate into the same question mark. */
    private static String digest(String key) {
        ByteBuffer utf16 = ByteBuffer.allocate(key.length() * Character.BYTES);
        utf16.asCharBuffer().put(key);
        return DIGEST_PREFIX + HexFormat.of().formatHex(sha256().digest(utf16.array()));
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
