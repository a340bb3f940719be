package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.algorithm.Algorithm;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What a script answered, checked value by value.
 *
 * @param key what holds for the key as a whole
 * @param answers one for each ask, in their order
 */
record ScriptReply(KeyStatus key, List<Answer> answers) {

    private static final int VALUES_OF_KEY = 6;
    private static final int VALUES_OF_JOINT = 2;
    private static final int VALUES_PER_ANSWER = 6;
    private static final long ALLOWED_BY_REFUND = 2;
    private static final Pattern INTEGER = Pattern.compile("0|-?[1-9][0-9]{0,15}");
    private static final Pattern OUTSIDE_WINDOWS = Pattern.compile("RATELIMITWINDOW (-?[0-9]{1,16})");
    private static final Pattern NEWER_EPOCH = Pattern.compile("RATELIMITEPOCH ([0-9]{1,16})");
    private static final String CORRUPT = "RATELIMITCORRUPT ";

    /**
     * A key after the asks.
     *
     * @param nowMicros the server's time at which all asks were decided
     * @param pausedUntilMicros the end of its pause, 0 if it is not paused
     * @param shiftMicros by how much pauses have moved the slots ahead
     * @param generation of the slots ahead, another one makes them void; 0 if there are none
     * @param tailMicros the base of the last slot that the instance had reserved before the asks, 0 if there is none
     * @param unsettled whether more slots were freed than one call may give back: another one has to follow
     */
    record KeyStatus(
            long nowMicros,
            long pausedUntilMicros,
            long shiftMicros,
            long generation,
            long tailMicros,
            boolean unsettled) {}

    /**
     * The answer to one ask.
     *
     * @param allowed whether the permits are (or were) there
     * @param remaining permits that could be had at once
     * @param waitMicros time until a denied ask is allowed, {@link Algorithm#UNKNOWN} if nobody can know; of a
     *     reservation the time until its slot, of permits taken up to a number how many they are, of an overdraft
     *     how many were not taken, of a refund how many are lost
     * @param resetMicros time until nothing is spent any more, {@link Algorithm#UNKNOWN} if nobody can know
     * @param part index of the part of the policy that binds
     * @param moreMicros time until more remains, {@link Algorithm#UNKNOWN} if it was denied or nobody can know
     * @param byRefund whether refunds paid for the slot that was reserved; whoever frees it has to say so
     */
    record Answer(
            boolean allowed,
            long remaining,
            long waitMicros,
            long resetMicros,
            int part,
            long moreMicros,
            boolean byRefund) {

        Answer(boolean allowed, long remaining, long waitMicros, long resetMicros, int part, long moreMicros) {
            this(allowed, remaining, waitMicros, resetMicros, part, moreMicros, false);
        }
    }

    /**
     * @param reply what the client library made of the array: strings, or their bytes
     * @param asks what was asked
     * @param parts how many parts the policy has
     * @throws RedisReplyException if it is not what our scripts answer
     */
    static ScriptReply parse(@Nullable Object reply, List<Ask> asks, int parts) {
        if (!(reply instanceof List<?> values)) {
            throw new RedisReplyException("reply is no array but " + typeOf(reply));
        }
        int size = VALUES_OF_KEY + VALUES_PER_ANSWER * asks.size();
        if (values.size() != size) {
            throw new RedisReplyException(
                    "reply to " + asks.size() + " asks has " + values.size() + " values instead of " + size
                            + ", the first is " + typeOf(values.isEmpty() ? null : values.get(0)));
        }
        List<Answer> answers = new ArrayList<>(asks.size());
        for (int i = 0; i < asks.size(); i++) {
            int from = VALUES_OF_KEY + i * VALUES_PER_ANSWER;
            answers.add(answer(asks.get(i), values.subList(from, from + VALUES_PER_ANSWER), parts));
        }
        KeyStatus key = new KeyStatus(
                integer("now", values.get(0)),
                notNegative("pause", values.get(1)),
                integer("shift", values.get(2)),
                notNegative("generation", values.get(3)),
                integer("tail", values.get(4)),
                notNegative("unsettled", values.get(5)) == 1);
        return new ScriptReply(key, List.copyOf(answers));
    }

    /**
     * The answers of joint.lua, up to the first denial.
     *
     * @param policies the policy of each ask
     * @throws RedisReplyException if it is not what our script answers
     */
    static List<Answered> parseJoint(@Nullable Object reply, List<Ask> asks, List<PolicyArguments> policies) {
        int size = VALUES_OF_JOINT + VALUES_PER_ANSWER * asks.size();
        if (!(reply instanceof List<?> values) || values.size() != size) {
            throw new RedisReplyException("reply to " + asks.size() + " takes is no array of " + size + " values");
        }
        KeyStatus key = new KeyStatus(integer("now", values.get(0)), 0, 0, 0, 0, false);
        long answered = notNegative("answered", values.get(1));
        if (answered < 1 || answered > asks.size()) {
            throw new RedisReplyException("reply answers " + answered + " of " + asks.size() + " takes");
        }
        List<Answered> answers = new ArrayList<>();
        for (int i = 0; i < answered; i++) {
            int from = VALUES_OF_JOINT + i * VALUES_PER_ANSWER;
            PolicyArguments policy = policies.get(i);
            int parts = policy.partNames().size();
            Answer answer = answer(asks.get(i), values.subList(from, from + VALUES_PER_ANSWER), parts);
            boolean mayBeDenied = i == answered - 1;
            if (mayBeDenied ? answered < asks.size() && answer.allowed() : !answer.allowed()) {
                throw new RedisReplyException("reply ends at " + answered + ", but not with the first denial");
            }
            answers.add(new Answered(answer, key, policy));
        }
        return answers;
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

    /** If an error means that a newer policy rules the key, its epoch. */
    static OptionalLong newerEpoch(String error) {
        Matcher matcher = NEWER_EPOCH.matcher(error);
        return matcher.matches() ? OptionalLong.of(Long.parseLong(matcher.group(1))) : OptionalLong.empty();
    }

    private static Answer answer(Ask ask, List<? extends @Nullable Object> values, int parts) {
        long allowed = integer("allowed", values.get(0));
        long remaining = notNegative("remaining", values.get(1));
        long waitMicros = time("wait", values.get(2));
        long resetMicros = time("reset", values.get(3));
        long part = notNegative("part", values.get(4));
        long moreMicros = time("more", values.get(5));
        boolean reserves = ask.op() == Ask.Op.RESERVE;
        boolean waitDecides = !reserves && !ask.op().countsPermits();
        long most = reserves ? ALLOWED_BY_REFUND : 1;
        if (waitDecides ? allowed != (waitMicros == 0 ? 1 : 0) : allowed < 0 || allowed > most) {
            throw new RedisReplyException("reply says allowed " + allowed + " with a wait of " + waitMicros);
        }
        if (part >= parts) {
            throw new RedisReplyException("reply names part " + part + " of " + parts);
        }
        boolean byRefund = allowed == ALLOWED_BY_REFUND;
        return new Answer(allowed > 0, remaining, waitMicros, resetMicros, (int) part, moreMicros, byRefund);
    }

    private static long time(String name, @Nullable Object value) {
        return "".equals(text(name, value)) ? Algorithm.UNKNOWN : notNegative(name, value);
    }

    static long notNegative(String name, @Nullable Object value) {
        long number = integer(name, value);
        if (number < 0) {
            throw new RedisReplyException("reply has a negative " + name + ": " + number);
        }
        return number;
    }

    static long integer(String name, @Nullable Object value) {
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
