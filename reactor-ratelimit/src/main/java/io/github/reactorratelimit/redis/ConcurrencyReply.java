package io.github.reactorratelimit.redis;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What concurrency.lua answered, checked value by value.
 *
 * @param nowMicros the server's time
 * @param answers one for each ask, in their order
 */
record ConcurrencyReply(long nowMicros, List<Answer> answers) {

    private static final int VALUES_PER_ANSWER = 2;

    /**
     * The answer to one ask.
     *
     * @param done whether the permits are (or were) there, or the lease was
     * @param remaining permits that could be had at once
     */
    record Answer(boolean done, long remaining) {}

    /** @throws RedisReplyException if it is not what our script answers */
    static ConcurrencyReply parse(@Nullable Object reply, int asks) {
        if (!(reply instanceof List<?> values) || values.size() != 1 + VALUES_PER_ANSWER * asks) {
            throw new RedisReplyException(
                    "reply to " + asks + " asks is no array of " + (1 + VALUES_PER_ANSWER * asks) + " values");
        }
        List<Answer> answers = new ArrayList<>(asks);
        for (int i = 1; i < values.size(); i += VALUES_PER_ANSWER) {
            long done = ScriptReply.notNegative("done", values.get(i));
            if (done > 1) {
                throw new RedisReplyException("reply has neither 0 nor 1 as done: " + done);
            }
            answers.add(new Answer(done == 1, ScriptReply.notNegative("remaining", values.get(i + 1))));
        }
        return new ConcurrencyReply(ScriptReply.notNegative("now", values.get(0)), List.copyOf(answers));
    }
}
