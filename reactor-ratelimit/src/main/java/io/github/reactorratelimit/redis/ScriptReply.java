package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.algorithm.Algorithm;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.IntPredicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What a script answered, checked value by value.
 *
 * @param nowMicros the server's time at which all asks were decided
 * @param answers one for each ask, in their order
 */
record ScriptReply(long nowMicros, List<Answer> answers) {

    private static final int VALUES_PER_ANSWER = 5;
    private static final Pattern INTEGER = Pattern.compile("0|-?[1-9][0-9]{0,15}");
    private static final Pattern OUTSIDE_WINDOWS = Pattern.compile("RATELIMITWINDOW (-?[0-9]{1,16})");
    private static final String CORRUPT = "RATELIMITCORRUPT ";

    /**
     * The answer to one ask.
     *
     * @param allowed whether the permits are (or were) there
     * @param remaining permits that could be had at once
     * @param waitMicros time until a denied ask is allowed, {@link Algorithm#UNKNOWN} if nobody can know; of an
     *     {@link Ask.Op#TAKE_UP_TO}, which is always allowed, the number of permits that were taken
     * @param resetMicros time until nothing is spent any more, {@link Algorithm#UNKNOWN} if nobody can know
     * @param part index of the part of the policy that binds
     */
    record Answer(boolean allowed, long remaining, long waitMicros, long resetMicros, int part) {}

    /**
     * @param reply what the client library made of the array: strings, or their bytes
     * @param asks how many were asked
     * @param parts how many parts the policy has
     * @throws RedisReplyException if it is not what our scripts answer
     */
    static ScriptReply parse(@Nullable Object reply, int asks, int parts) {
        return parse(reply, asks, parts, ask -> false);
    }

    /** {@link #parse(Object, int, int)} of a reply to these asks. */
    static ScriptReply parse(@Nullable Object reply, List<Ask> asks, int parts) {
        return parse(reply, asks.size(), parts, ask -> asks.get(ask).op() == Ask.Op.TAKE_UP_TO);
    }

    private static ScriptReply parse(@Nullable Object reply, int asks, int parts, IntPredicate tellsTaken) {
        if (!(reply instanceof List<?> values)) {
            throw new RedisReplyException("reply is no array but " + typeOf(reply));
        }
        if (values.size() != 1 + VALUES_PER_ANSWER * asks) {
            throw new RedisReplyException("reply to " + asks + " asks has " + values.size() + " values instead of "
                    + (1 + VALUES_PER_ANSWER * asks));
        }
        List<Answer> answers = new ArrayList<>(asks);
        for (int ask = 0; ask < asks; ask++) {
            int first = 1 + VALUES_PER_ANSWER * ask;
            answers.add(answer(values.subList(first, first + VALUES_PER_ANSWER), parts, tellsTaken.test(ask)));
        }
        return new ScriptReply(integer("now", values.get(0)), List.copyOf(answers));
    }

    /** Whether an error means that a key holds something that is not ours. */
    static boolean isCorrupt(String error) {
        return error.startsWith(CORRUPT);
    }

    /** If an error means that the server's time lies outside the calendar windows it was passed, that time. */
    static OptionalLong outsideWindows(String error) {
        Matcher matcher = OUTSIDE_WINDOWS.matcher(error);
        return matcher.matches() ? OptionalLong.of(Long.parseLong(matcher.group(1))) : OptionalLong.empty();
    }

    private static Answer answer(List<? extends @Nullable Object> values, int parts, boolean tellsTaken) {
        long allowed = integer("allowed", values.get(0));
        long remaining = notNegative("remaining", values.get(1));
        long waitMicros = time("wait", values.get(2));
        long resetMicros = time("reset", values.get(3));
        long part = notNegative("part", values.get(4));
        if (allowed != (waitMicros == 0 || tellsTaken ? 1 : 0)) {
            throw new RedisReplyException("reply says allowed " + allowed + " with a wait of " + waitMicros);
        }
        if (part >= parts) {
            throw new RedisReplyException("reply names part " + part + " of " + parts);
        }
        return new Answer(allowed == 1, remaining, waitMicros, resetMicros, (int) part);
    }

    private static long time(String name, @Nullable Object value) {
        return "".equals(text(name, value)) ? Algorithm.UNKNOWN : notNegative(name, value);
    }

    private static long notNegative(String name, @Nullable Object value) {
        long number = integer(name, value);
        if (number < 0) {
            throw new RedisReplyException("reply has a negative " + name + ": " + number);
        }
        return number;
    }

    private static long integer(String name, @Nullable Object value) {
        String text = text(name, value);
        if (!INTEGER.matcher(text).matches()) {
            throw new RedisReplyException("reply has no integer as " + name);
        }
        long number = Long.parseLong(text);
        if (!Exact.holds(number)) {
            throw new RedisReplyException("reply has a " + name + " that is not below 2^53: " + number);
        }
        return number;
    }

    private static String text(String name, @Nullable Object value) {
        if (value instanceof String text) {
            return text;
        }
        if (value instanceof byte[] bytes) {
            return new String(bytes, StandardCharsets.US_ASCII);
        }
        throw new RedisReplyException("reply has no string as " + name + " but " + typeOf(value));
    }

    private static String typeOf(@Nullable Object value) {
        return value == null ? "nothing" : value.getClass().getSimpleName();
    }
}
