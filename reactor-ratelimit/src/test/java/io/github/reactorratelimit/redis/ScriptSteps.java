package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.RateLimitRecorder;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import reactor.core.scheduler.Schedulers;

/** Runs commands for one key by the script, on a real server, at times that a test chooses. */
final class ScriptSteps {

    /** So few that no command takes long, also on a busy machine. */
    private static final int STEPS_PER_CALL = 50;

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /**
     * Runs the script many times in one call. The keys do not expire, since the times that are passed have nothing to do with
     * the server's.
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
              local keys = { unpack(KEYS, 1, tonumber(ARGV[position])) }
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
    private final String sha;

    ScriptSteps(StatefulRedisConnection<String, String> connection) {
        this.connection = connection;
        connection.setTimeout(PATIENCE);
        this.sha = connection
                .sync()
                .scriptLoad(DRIVER.formatted(RedisScript.ofCommands().text()));
    }

    /** Commands at a time. */
    record Step(long now, List<Command> commands) {}

    static ServerClock clockAt(long startMicros) {
        ServerClock clock = new ServerClock(Schedulers.parallel(), RateLimitRecorder.NOOP);
        clock.startAt(startMicros);
        return clock;
    }

    /** The replies to steps that follow one another; deletes the keys in the end. */
    CompletableFuture<List<List<CommandReply>>> callAll(
            ScriptPolicy policy, ServerClock clock, String name, List<Step> steps) {
        List<String> keys = new ArrayList<>(List.of(name));
        policy.addMoreKeys(name, keys);
        CompletableFuture<List<Object>> replies = CompletableFuture.completedFuture(List.of());
        for (int i = 0; i < steps.size(); i += STEPS_PER_CALL) {
            List<String> arguments = new ArrayList<>();
            for (Step step : steps.subList(i, Math.min(i + STEPS_PER_CALL, steps.size()))) {
                add(arguments, policy, clock, step, keys.size());
            }
            RedisFuture<List<Object>> some = connection
                    .async()
                    .evalsha(
                            sha, ScriptOutputType.MULTI, keys.toArray(String[]::new), arguments.toArray(String[]::new));
            replies = replies.thenCombine(some, ScriptSteps::concat);
        }
        connection.async().del(keys.toArray(String[]::new));
        return replies.thenApply(all -> parse(policy, steps, all));
    }

    private static void add(List<String> arguments, ScriptPolicy policy, ServerClock clock, Step step, int allKeys) {
        clock.learn(step.now);
        boolean needsMore = step.commands.stream().anyMatch(policy::needsMoreKeys);
        arguments.add(Integer.toString(needsMore ? allKeys : 1));
        arguments.add("4");
        arguments.add(Long.toString(step.now));
        arguments.add("1");
        arguments.add(policy.text(clock));
        arguments.add(entry(step.commands, needsMore));
    }

    static String entry(List<Command> commands, boolean needsMore) {
        StringBuilder entry = new StringBuilder(needsMore ? "1+" : "1");
        commands.forEach(command -> command.appendTo(entry, 1));
        return entry.toString();
    }

    private static List<List<CommandReply>> parse(ScriptPolicy policy, List<Step> steps, List<Object> replies) {
        List<List<CommandReply>> parsed = new ArrayList<>();
        for (int i = 0; i < steps.size(); i++) {
            parsed.add(parse(policy, steps.get(i).commands, replies.get(i)));
        }
        return parsed;
    }

    /** Also of plain acquires, of which the script says little. */
    static List<CommandReply> parse(ScriptPolicy policy, List<Command> commands, Object reply) {
        if (!(reply instanceof List<?> values)) {
            throw new AssertionError("the script fails: " + reply);
        }
        long now = (Long) values.get(0);
        if (values.get(1) instanceof Long allowed) {
            return plain(policy, commands, now, allowed, (Long) values.get(2));
        }
        String text = (String) values.get(1);
        if (text.startsWith("-")) {
            throw new AssertionError("the script says " + text);
        }
        return CallReply.parse(policy, commands, now, text);
    }

    private static List<CommandReply> plain(
            ScriptPolicy policy, List<Command> commands, long now, long allowed, long owed) {
        BucketRate rate = policy.bucketRate();
        List<CommandReply> replies = new ArrayList<>();
        long owedThen = owed - allowed * rate.costParts(commands.get(0).permits());
        for (int i = 0; i < commands.size(); i++) {
            owedThen += i < allowed ? rate.costParts(commands.get(i).permits()) : 0;
            replies.add(rate.reply(commands.get(i), policy, CommandReply.KeyStatus.plain(now), i < allowed, owedThen));
        }
        return replies;
    }

    private static List<Object> concat(List<Object> left, List<Object> right) {
        List<Object> both = new ArrayList<>(left);
        both.addAll(right);
        return both;
    }
}
