package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.RateLimitPolicy;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import reactor.core.publisher.Mono;

/** The policies of a limiter by their epochs, in Redis, where its processes find them: the two newest, for ever. */
final class PolicyRegistry {

    private final ScriptCaller caller;
    private final String[] key;
    private final RedisScript script = RedisScript.ofPolicies();

    PolicyRegistry(ScriptCaller caller, RedisKeys keys) {
        this.caller = caller;
        this.key = new String[] {keys.policies()};
    }

    /** Adds a policy unless its epoch is there or too old, and brings all; with epoch 0 only brings them. */
    Mono<NavigableMap<Long, String>> register(long epoch, RateLimitPolicy policy) {
        String[] arguments = {Long.toString(epoch), epoch == 0 ? "" : PolicyText.format(policy)};
        return caller.call(script, key, arguments).map(PolicyRegistry::parse);
    }

    private static NavigableMap<Long, String> parse(List<Object> flat) {
        NavigableMap<Long, String> policies = new TreeMap<>();
        for (int i = 0; i + 1 < flat.size(); i += 2) {
            if (!(flat.get(i + 1) instanceof String policy)) {
                throw new RedisReplyException("reply has no string as policy");
            }
            policies.put(ScriptReply.notNegative("epoch", flat.get(i)), policy);
        }
        return policies;
    }
}
