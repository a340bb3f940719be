package io.github.reactorratelimit.testing.redis;

import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Calls the servers have run since it was made, by {@code INFO commandstats}. Commands that a script calls are counted under
 * their own names, a script call itself once: count those. Replicas count what they replay, but never a script.
 */
public final class CommandCount {

    private static final Pattern LINE = Pattern.compile("cmdstat_([^:]+):calls=(\\d+),.*");

    private final List<RedisURI> servers;
    private final Map<String, Long> before;

    private CommandCount(List<RedisURI> servers) {
        this.servers = servers;
        this.before = total(servers);
    }

    /** Counts from now on, on all the servers that hold data. Servers that other tests use too are refused. */
    public static CommandCount on(Topology topology) {
        if (RedisExtension.isShared(topology)) {
            throw new IllegalArgumentException(
                    "the whole run shares these servers: count on @Dedicated ones, or start some");
        }
        return new CommandCount(topology.dataServers());
    }

    /** Counts from now on, on one server. */
    public static CommandCount on(RedisServer server) {
        return new CommandCount(List.of(server.uri()));
    }

    /** Script calls: EVALSHA and EVAL, a refused EVALSHA (NOSCRIPT) included. */
    public long scripts() {
        return calls("evalsha") + calls("eval");
    }

    /** Calls of a command, in small letters as the server writes it ({@code "config|get"}). */
    public long calls(String command) {
        return all().getOrDefault(command, 0L);
    }

    /** Calls of every command that was called. */
    public Map<String, Long> all() {
        Map<String, Long> since = total(servers);
        before.forEach((command, calls) -> since.merge(command, -calls, Long::sum));
        since.values().removeIf(calls -> calls == 0);
        return since;
    }

    private static Map<String, Long> total(List<RedisURI> servers) {
        Map<String, Long> calls = new HashMap<>();
        for (RedisURI server : servers) {
            String stats = Clients.askPatiently(server, CommandCount::stats);
            LINE.matcher(stats)
                    .results()
                    .forEach(line -> calls.merge(line.group(1), Long.valueOf(line.group(2)), Long::sum));
        }
        return calls;
    }

    private static String stats(RedisCommands<String, String> commands) {
        return commands.info("commandstats");
    }
}
