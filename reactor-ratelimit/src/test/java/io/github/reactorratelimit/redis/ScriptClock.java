package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.RateLimitPolicy;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.sync.RedisScriptingCommands;
import java.util.Collections;
import java.util.List;

/** Takes permits of one key by the store's own script, at times that a test chooses. */
public final class ScriptClock {

    private final RedisScriptingCommands<String, String> commands;
    private final PolicyArguments policy;
    private final String[] keys;

    public ScriptClock(RedisScriptingCommands<String, String> commands, RateLimitPolicy policy, String key) {
        this.commands = commands;
        this.policy = PolicyArguments.of(policy, 0);
        this.keys = ScriptCalls.keys(this.policy, key);
    }

    /** Asks so many times for one permit, all at the same time; how many were allowed. */
    public long take(long nowMicros, int times) {
        List<Ask> asks = Collections.nCopies(times, Ask.take(1));
        List<Object> reply = commands.eval(
                policy.script().text(), ScriptOutputType.MULTI, keys, ScriptArguments.at(nowMicros, policy, asks));
        return ScriptReply.parse(reply, asks, policy.partNames().size()).answers().stream()
                .filter(ScriptReply.Answer::allowed)
                .count();
    }
}
