package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.LimiterState;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * The names of keys in Redis: {@code prefix:{limiter:key}:part}. What lies in braces chooses the slot, so
 * the parts of a policy share one; braces of the user's own are escaped, so that nobody can choose a
 * slot for many keys. With a hash tag they are {@code prefix:{tag}:limiter:key:part}, all in one slot.
 *
 * <p>No two names are equal: a prefix holds no brace, an escaped limiter and a part hold no colon. So the prefix ends
 * at the first brace, the limiter at the first colon behind it, and the part begins behind the last colon.
 */
final class RedisKeys {

    private static final Pattern ESCAPED = Pattern.compile("%([0-9A-F]{4})?");

    private final String head;
    private final String behindKey;
    private final String signalChannel;
    private final String policies;

    RedisKeys(String prefix, String limiter) {
        this(prefix, limiter, "");
    }

    /** @param hashTag what chooses the slot of all keys; empty if each has its own */
    RedisKeys(String prefix, String limiter, String hashTag) {
        String escapedLimiter = escape(limiter).replace(":", "%003A");
        String tag = prefix + ":{" + escapedLimiter;
        boolean shared = !hashTag.isEmpty();
        this.head = shared ? prefix + ":{" + escape(hashTag) + "}:" + escapedLimiter + ":" : tag + ":";
        this.behindKey = shared ? ":" : "}:";
        this.signalChannel = tag + "}:signals";
        this.policies = tag + "}:policies";
    }

    /** Where the processes that share the limiter tell each other what changed. */
    String signalChannel() {
        return signalChannel;
    }

    /** Where the policies of the limiter lie, by their epochs. */
    String policies() {
        return policies;
    }

    /** Whether all keys lie in one slot of a Cluster. */
    boolean shareASlot() {
        return behindKey.equals(":");
    }

    /** What the names of a key's parts begin with. */
    String named(String key) {
        return head + escape(LimiterState.shortName(key)) + behindKey;
    }

    /** The name of one part. */
    String named(String key, String part) {
        return named(key) + part;
    }

    String[] of(String key, List<String> partNames) {
        return listOf(key, partNames).toArray(String[]::new);
    }

    List<String> listOf(String key, List<String> partNames) {
        String named = named(key);
        return partNames.stream().map(named::concat).toList();
    }

    /** Also makes lone surrogates, which UTF-8 cannot tell apart, different from everything else. */
    static String escape(String text) {
        StringBuilder escaped = null;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            boolean plain = c != '{' && c != '}' && c != '%' && !isLoneSurrogate(text, i);
            if (plain && escaped == null) {
                continue;
            }
            if (escaped == null) {
                escaped = new StringBuilder(text.length() + 8).append(text, 0, i);
            }
            if (plain) {
                escaped.append(c);
            } else {
                escaped.append(String.format("%%%04X", (int) c));
            }
        }
        return escaped == null ? text : escaped.toString();
    }

    /** The text that was escaped; empty if this is not what {@link #escape} makes. */
    static Optional<String> unescape(String escaped) {
        if (escaped.indexOf('%') < 0) {
            return Optional.of(escaped);
        }
        StringBuilder text = new StringBuilder(escaped.length());
        Matcher matcher = ESCAPED.matcher(escaped);
        int from = 0;
        for (; matcher.find(); from = matcher.end()) {
            if (matcher.group(1) == null) {
                return Optional.empty();
            }
            text.append(escaped, from, matcher.start()).append((char) Integer.parseInt(matcher.group(1), 16));
        }
        return Optional.of(text.append(escaped, from, escaped.length()).toString());
    }

    /** Whether a text holds a surrogate that is no part of a pair: UTF-8 writes all of them alike. */
    static boolean hasLoneSurrogate(String text) {
        return IntStream.range(0, text.length()).anyMatch(i -> isLoneSurrogate(text, i));
    }

    private static boolean isLoneSurrogate(String text, int index) {
        char c = text.charAt(index);
        if (Character.isHighSurrogate(c)) {
            return index + 1 == text.length() || !Character.isLowSurrogate(text.charAt(index + 1));
        }
        return Character.isLowSurrogate(c) && (index == 0 || !Character.isHighSurrogate(text.charAt(index - 1)));
    }
}
