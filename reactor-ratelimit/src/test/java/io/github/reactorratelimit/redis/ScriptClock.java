package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.RateLimitPolicy;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.sync.RedisScriptingCommands;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Acquires permits of one key by the store's own script, at times that a test chooses. */
public final class ScriptClock {

    private final RedisScriptingCommands<String, String> commands;
    private final ServerClock clock = ScriptSteps.clockAt(0);
    private final ScriptPolicy policy;
    private final String name;

    public ScriptClock(RedisScriptingCommands<String, String> commands, RateLimitPolicy policy, String key) {
        this.commands = commands;
        this.policy = ScriptPolicy.of(policy);
        this.name = "{" + key + "}";
    }

    /** Requests one permit so many times, all at the same time; how many were allowed. */
    public long take(long nowMicros, int times) {
        clock.learn(nowMicros);
        List<Command> acquires = Collections.nCopies(times, Command.acquire(1));
        boolean needsMore = policy.needsMoreKeys(acquires.get(0));
        List<String> keys = new ArrayList<>(List.of(name));
        if (needsMore) {
            policy.addMoreKeys(name, keys);
        }
        List<Object> reply = commands.eval(
                RedisScript.ofCommands().text(),
                ScriptOutputType.MULTI,
                keys.toArray(String[]::new),
                Long.toString(nowMicros),
                "1",
                policy.text(clock),
                ScriptSteps.entry(acquires, needsMore));
        return ScriptSteps.parse(policy, acquires, reply).stream()
                .filter(CommandReply::allowed)
                .count();
    }
}
