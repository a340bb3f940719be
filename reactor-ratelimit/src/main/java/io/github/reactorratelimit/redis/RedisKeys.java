package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.LimiterState;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The names of keys in Redis. The value of a key is {@code prefix:{limiter:key}}; what holds more of it has
 * {@code :free}, {@code :log} or {@code :leases} behind it. What lies in braces chooses the hash slot; braces
 * in users' keys are escaped, so that no user can choose a slot for many keys. With a hash tag they are {@code
 * prefix:{tag}:limiter:key:value}, all in one slot.
 *
 * <p>No two names are equal: a prefix holds no brace, an escaped limiter no colon. So the prefix ends at the
 * first brace and the limiter at the first colon behind it; the rest is a whole key in braces and a known
 * ending, or a known ending behind the last colon.
 */
final class RedisKeys {

    private static final Pattern ESCAPED = Pattern.compile("%([0-9A-F]{4})?");
    private static final String LEASES = ":leases";

    /** Names of recent keys are kept: hot keys need not be named again. */
    private static final int RECENT = 256;

    private record Named(String key, String name) {}

    private final @Nullable Named[] recent = new Named[RECENT];
    private final String head;
    private final String behindKey;
    private final String signalChannel;
    private final String policies;

    RedisKeys(String prefix, String limiter) {
        this(prefix, limiter, "");
    }

    /** @param hashTag what chooses the hash slot of all keys; empty if each has its own */
    RedisKeys(String prefix, String limiter, String hashTag) {
        String escapedLimiter = escape(limiter).replace(":", "%003A");
        String tag = prefix + ":{" + escapedLimiter;
        boolean isShared = !hashTag.isEmpty();
        this.head = isShared ? prefix + ":{" + escape(hashTag) + "}:" + escapedLimiter + ":" : tag + ":";
        this.behindKey = isShared ? ":value" : "}";
        this.signalChannel = tag + "}:signals";
        this.policies = tag + "}:policies";
    }

    /** Where the processes that share the limiter tell each other what changed. */
    String signalChannel() {
        return signalChannel;
    }

    /** Where the policies of the limiter lie, by their versions. */
    String policies() {
        return policies;
    }

    /** The name of a key's value. */
    String named(String key) {
        int place = key.hashCode() & (RECENT - 1);
        Named known = recent[place];
        if (known == null || !known.key.equals(key)) {
            known = new Named(key, head + escape(LimiterState.shortName(key)) + behindKey);
            recent[place] = known;
        }
        return known.name;
    }

    /** The name of what commands under a policy are about. */
    String named(String key, ScriptPolicy policy) {
        return policy.isAboutVersions() ? policies : policy.hasLeases() ? named(key) + LEASES : named(key);
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
