package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.RateLimitPolicy;

/**
 * An answer together with what holds for the key, and the policy that it was given under.
 *
 * @param answer to one ask
 * @param key after all asks of the call
 * @param policy as the script took it
 */
record Answered(ScriptReply.Answer answer, ScriptReply.KeyStatus key, PolicyArguments policy) {

    /** The part of the policy that the answer is about. */
    RateLimitPolicy binding() {
        return policy.part(answer.part());
    }
}
