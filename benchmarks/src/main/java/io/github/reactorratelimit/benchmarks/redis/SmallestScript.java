package io.github.reactorratelimit.benchmarks.redis;

import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;

/**
 * The floor of one script call per decision: GCRA at the server's time, one value per key, nothing told but yes or no.
 * In whole microseconds: limits above a million per second become that, which a call per decision does not reach.
 */
public final class SmallestScript implements Target {

    /** {@code KEYS[1]} the state, {@code ARGV} microseconds per permit, microseconds of the whole limit; 1 if allowed. */
    public static final String SCRIPT = """
            local time = redis.call('TIME')
            local now = time[1] * 1000000 + time[2]
            local tat = math.max(now, tonumber(redis.call('GET', KEYS[1]) or 0)) + ARGV[1]
            local ahead = tat - now
            if ahead > tonumber(ARGV[2]) then
              return 0
            end
            redis.call('SET', KEYS[1], string.format('%.0f', tat), 'PX', math.ceil(ahead / 1000))
            return 1
            """;

    private final StatefulRedisConnection<String, String> connection;
    private final RedisAsyncCommands<String, String> commands;
    private final String digest;
    private final String[][] keys;
    private final long microsPerPermit;
    private final String interval;
    private final String tolerance;

    private SmallestScript(StatefulRedisConnection<String, String> connection, String[][] keys, Limit limit) {
        this.connection = connection;
        this.commands = connection.async();
        this.digest = connection.sync().scriptLoad(SCRIPT);
        this.keys = keys;
        this.microsPerPermit = Math.max(1, limit.period().toNanos() / 1_000 / limit.permits());
        this.interval = Long.toString(microsPerPermit);
        this.tolerance = Long.toString(microsPerPermit * limit.capacity());
    }

    static Target open(RedisBench bench, String name, int keys, Limit limit) {
        String[][] names = Names.of(keys, String[][]::new, key -> new String[] {name + ":" + key});
        return new SmallestScript(bench.client().connect(), names, limit);
    }

    @Override
    public void ask(int key, long permits, Answer answer) {
        String cost = permits == 1 ? interval : Long.toString(microsPerPermit * permits);
        commands.<Long>evalsha(digest, ScriptOutputType.INTEGER, keys[key], cost, tolerance)
                .whenComplete((allowed, error) -> answer.complete(error == null && allowed == 1, error));
    }

    @Override
    public void close() {
        connection.close();
    }
}
