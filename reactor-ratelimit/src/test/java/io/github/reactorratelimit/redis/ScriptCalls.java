package io.github.reactorratelimit.redis;

import io.lettuce.core.RedisFuture;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Runs scripts on a real server. */
final class ScriptCalls {

    /**
     * Works off many calls of a script in one, on keys that it deletes in the end. The keys do not expire,
     * since the times that are passed have nothing to do with the server's.
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
              local arguments = {}
              for i = 1, tonumber(ARGV[position]) do
                arguments[i] = ARGV[position + i]
              end
              local reply = call(KEYS, arguments, lasting)
              replies[#replies + 1] = reply.err or reply
              position = position + 1 + #arguments
            end
            redis.call('DEL', unpack(KEYS))
            return replies
            """;

    private final StatefulRedisConnection<String, String> connection;
    private final Map<RedisScript, String> driverShas = new ConcurrentHashMap<>();

    ScriptCalls(StatefulRedisConnection<String, String> connection) {
        this.connection = connection;
    }

    /** One call, as a store makes it. */
    RedisFuture<List<Object>> call(RedisScript script, String[] keys, String[] arguments) {
        return connection.async().evalsha(script.sha1(), ScriptOutputType.MULTI, keys, arguments);
    }

    /** The replies to calls that follow one another, error messages among them. */
    RedisFuture<List<Object>> callAll(RedisScript script, String[] keys, List<String[]> calls) {
        List<String> arguments = new ArrayList<>();
        for (String[] call : calls) {
            arguments.add(Integer.toString(call.length));
            arguments.addAll(List.of(call));
        }
        String sha = driverShas.computeIfAbsent(
                script, known -> connection.sync().scriptLoad(DRIVER.formatted(known.text())));
        return connection.async().evalsha(sha, ScriptOutputType.MULTI, keys, arguments.toArray(String[]::new));
    }

    /** The keys of a policy's parts. */
    static String[] keys(PolicyArguments policy, String key) {
        return policy.partNames().stream().map(name -> "{" + key + "}" + name).toArray(String[]::new);
    }
}
