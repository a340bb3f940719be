package io.github.reactorratelimit.redis;

import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.protocol.CommandArgs;
import java.util.ArrayList;
import java.util.List;

/** Writes the keys and arguments of a call, in the order that the head of frame.lua gives. */
final class CallArguments {

    private static final byte[] SERVER_TIME = {};

    private CallArguments() {}

    /** @param withText whether the server does not know the script */
    static CommandArgs<String, String> of(ScriptCall call, boolean withText) {
        RedisScript script = RedisScript.ofCommands();
        CommandArgs<String, String> arguments =
                new CommandArgs<>(StringCodec.UTF8).add(withText ? script.text() : script.sha1());
        addKeys(arguments, call.runs());
        arguments.add(SERVER_TIME).add(call.policies().size() + (call.isTogether() ? "a" : ""));
        addPolicies(arguments, call.runs());
        addEntries(arguments, call.runs());
        return arguments;
    }

    /** Each by the clock of its limiter; they are numbered as the runs first name them. */
    private static void addPolicies(CommandArgs<String, String> arguments, List<KeyRun> runs) {
        int added = 0;
        for (KeyRun run : runs) {
            if (run.policyIndex > added) {
                arguments.add(run.policy.text(run.first().limiter.clock()));
                added++;
            }
        }
    }

    private static void addKeys(CommandArgs<String, String> arguments, List<KeyRun> runs) {
        List<String> keys = new ArrayList<>(runs.size());
        for (KeyRun run : runs) {
            keys.add(run.key.name);
            if (run.needsMoreKeys()) {
                run.policy.addMoreKeys(run.key.name, keys);
            }
        }
        arguments.add(keys.size()).addKeys(keys);
    }

    /** Once, if it is the same for all keys. */
    private static void addEntries(CommandArgs<String, String> arguments, List<KeyRun> runs) {
        List<String> entries = new ArrayList<>(runs.size());
        boolean isShared = true;
        for (KeyRun run : runs) {
            String entry = run.entry();
            isShared = isShared && (entries.isEmpty() || entry.equals(entries.get(0)));
            entries.add(entry);
        }
        for (String entry : isShared ? entries.subList(0, 1) : entries) {
            arguments.add(entry);
        }
    }
}
