package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.PolicyText;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import reactor.core.publisher.Mono;

/** The policies of a limiter by their epochs, in Redis, where its processes find them: the two newest, for ever. */
final class PolicyRegistry implements PolicyEpochs.Registry {

    private final ScriptCaller caller;
    private final String[] key;
    private final UnaryOperator<Mono<List<Object>>> calling;
    private final RedisScript script = RedisScript.ofPolicies();

    /** @param calling what a call goes through, when it is made */
    PolicyRegistry(ScriptCaller caller, RedisKeys keys, UnaryOperator<Mono<List<Object>>> calling) {
        this.caller = caller;
        this.key = new String[] {keys.policies()};
        this.calling = calling;
    }

    /** Adds a policy unless its epoch is there or too old; with epoch 0 only brings all. */
    @Override
    public Mono<NavigableMap<Long, String>> register(PolicyEpochs.Rule rule) {
        return call(Long.toString(rule.epoch()), rule.epoch() == 0 ? "" : PolicyText.format(rule.policy()));
    }

    @Override
    public Mono<NavigableMap<Long, String>> change(PolicyEpochs.Rule rule, RateLimitPolicy to) {
        return call(Long.toString(rule.epoch()), PolicyText.format(rule.policy()), PolicyText.format(to));
    }

    /** @throws RedisCorruptStateException if the text is none of a policy that this version knows */
    static RateLimitPolicy policyOf(String text) {
        try {
            return PolicyText.parse(text);
        } catch (IllegalArgumentException unknown) {
            throw new RedisCorruptStateException("the policies of the limiter hold " + unknown.getMessage());
        }
    }

    private Mono<NavigableMap<Long, String>> call(String... arguments) {
        return Mono.defer(() -> calling.apply(caller.call(script, key, arguments)))
                .map(PolicyRegistry::parse);
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
