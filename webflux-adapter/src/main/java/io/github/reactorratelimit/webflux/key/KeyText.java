package io.github.reactorratelimit.webflux.key;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;

/**
 * How keys are spelled. Text from a client becomes short, whatever its length, and texts that are different stay so, but for blanks
 * around them, which an application may cut off or not.
 */
final class KeyText {

    /** 128 bits: who searches for a second text with the hash of a first does not find it. */
    private static final int HASH_BYTES = 16;

    private static final int MAX_CLEAR_CHARS = 64;
    private static final char HASH_MARK = '#';

    private KeyText() {}

    /** Without blanks of any kind around it. */
    static String stripped(String text) {
        int start = 0;
        int end = text.length();
        while (start < end && isBlank(text.charAt(start))) {
            start++;
        }
        while (end > start && isBlank(text.charAt(end - 1))) {
            end--;
        }
        return text.substring(start, end);
    }

    /** Whatever some application takes for a blank: {@code trim}, {@code strip} and Unicode differ. */
    private static boolean isBlank(char c) {
        return c <= ' ' || Character.isWhitespace(c) || Character.isSpaceChar(c) || Character.isISOControl(c);
    }

    /** As it is if that is short, otherwise its hash; what looks like a hash is hashed too. */
    static String bounded(String text) {
        boolean clear = text.length() <= MAX_CLEAR_CHARS && text.charAt(0) != HASH_MARK;
        return clear ? text : HASH_MARK + hash(text);
    }

    /** SHA-256 over UTF-16, because UTF-8 turns every lone surrogate into the same question mark; 22 characters. */
    static String hash(String text) {
        ByteBuffer utf16 = ByteBuffer.allocate(text.length() * Character.BYTES);
        utf16.asCharBuffer().put(text);
        byte[] digest = sha256().digest(utf16.array());
        return Base64.getUrlEncoder().withoutPadding().encodeToString(Arrays.copyOf(digest, HASH_BYTES));
    }

    static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    /** Each part behind its length, so that no part can reach into the next. */
    static String joined(List<String> parts) {
        StringBuilder text = new StringBuilder();
        for (String part : parts) {
            text.append(part.length()).append(':').append(part);
        }
        return text.toString();
    }
}
