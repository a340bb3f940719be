package io.github.reactorratelimit.redis;

import io.lettuce.core.RedisFuture;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;

/** Runs scripts on a real server. */
final class ScriptCalls {

    /** So few that no command takes long, also on a busy machine. */
    private static final int CALLS_PER_COMMAND = 50;

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /**
     * Works off many calls of a script in one. The keys do not expire, since the times that are passed have
     * nothing to do with the server's.
     */
    private static final String DRIVER = """
            local server = redis
            local lasting = { error_reply = redis.error_reply }
            function lasting.pcall(name, ...)
              if name == 'PEXPIRE' then
                return 1
              elseif name == 'SET' then
                local key, value = ...
                return server.pcall(name, key, value)
              end
              return server.pcall(name, ...)
            end
            local function call(KEYS, ARGV, redis)
            %s
            end
            local replies = {}
            local position = 1
            while position <= #ARGV do
              local keys = { unpack(KEYS, tonumber(ARGV[position])) }
              local arguments = {}
              for i = 1, tonumber(ARGV[position + 1]) do
                arguments[i] = ARGV[position + 1 + i]
              end
              local reply = call(keys, arguments, lasting)
              replies[#replies + 1] = reply.err or reply
              position = position + 2 + #arguments
            end
            return replies
            """;

    private final StatefulRedisConnection<String, String> connection;
    private final Map<RedisScript, String> driverShas = new ConcurrentHashMap<>();

    ScriptCalls(StatefulRedisConnection<String, String> connection) {
        this.connection = connection;
        connection.setTimeout(PATIENCE);
    }

    /** One call, as a store makes it. */
    RedisFuture<List<Object>> call(RedisScript script, String[] keys, String[] arguments) {
        return connection.async().evalsha(script.sha1(), ScriptOutputType.MULTI, keys, arguments);
    }

    /**
     * One of many calls.
     *
     * @param part index of the first key it works on
     */
    record Call(int part, String[] arguments) {}

    /** The replies to calls that follow one another, error messages among them; deletes the keys in the end. */
    CompletableFuture<List<Object>> callAll(RedisScript script, String[] keys, List<Call> calls) {
        String sha = driverShas.computeIfAbsent(
                script, known -> connection.sync().scriptLoad(DRIVER.formatted(known.text())));
        CompletionStage<List<Object>> replies = CompletableFuture.completedFuture(List.of());
        for (int i = 0; i < calls.size(); i += CALLS_PER_COMMAND) {
            String[] arguments = arguments(calls.subList(i, Math.min(i + CALLS_PER_COMMAND, calls.size())));
            RedisFuture<List<Object>> some = connection.async().evalsha(sha, ScriptOutputType.MULTI, keys, arguments);
            replies = replies.thenCombine(some, ScriptCalls::concat);
        }
        connection.async().del(keys);
        return replies.toCompletableFuture();
    }

    private static String[] arguments(List<Call> calls) {
        List<String> arguments = new ArrayList<>();
        for (Call call : calls) {
            arguments.add(Integer.toString(1 + call.part));
            arguments.add(Integer.toString(call.arguments.length));
            arguments.addAll(List.of(call.arguments));
        }
        return arguments.toArray(String[]::new);
    }

    private static List<Object> concat(List<Object> left, List<Object> right) {
        List<Object> both = new ArrayList<>(left);
        both.addAll(right);
        return both;
    }

    /** As many takes: asks whose answers say by the wait whether they are allowed. */
    static List<Ask> takes(int count) {
        return Collections.nCopies(count, Ask.take(1));
    }

    /** The keys of a policy's parts. */
    static String[] keys(PolicyArguments policy, String key) {
        return policy.partNames().stream().map(name -> "{" + key + "}" + name).toArray(String[]::new);
    }
}
