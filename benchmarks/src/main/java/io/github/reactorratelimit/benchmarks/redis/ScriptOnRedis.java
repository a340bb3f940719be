package io.github.reactorratelimit.benchmarks.redis;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/** One call of a script for each decision, by Lettuce's futures. */
public final class ScriptOnRedis implements RedisLimiter {

    /**
     * The floor: GCRA at the server's time, one value per key. {@code KEYS[1]} the state, {@code ARGV}
     * microseconds per permit and of the burst; 1 if allowed.
     */
    public static final String SMALLEST = """
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

    private static final String GATEWAY_RESOURCE = "/META-INF/scripts/request_rate_limiter.lua";

    private final StatefulRedisConnection<String, String> connection;
    private final RedisAsyncCommands<String, String> commands;
    private final String digest;
    private final String[][] keys;
    private final ScriptOutputType type;
    private final String[] arguments;

    private ScriptOnRedis(
            StatefulRedisConnection<String, String> connection,
            String script,
            String[][] keys,
            ScriptOutputType type,
            String... arguments) {
        this.connection = connection;
        this.commands = connection.async();
        this.digest = connection.sync().scriptLoad(script);
        this.keys = keys;
        this.type = type;
        this.arguments = arguments;
    }

    static RedisLimiter smallest(RedisClient client, RedisURI uri, String[] keys, BucketSize limit) {
        long micros = 1_000_000 / limit.permits();
        String[][] names = Arrays.stream(keys).map(key -> new String[] {key}).toArray(String[][]::new);
        return new ScriptOnRedis(
                client.connect(),
                SMALLEST,
                names,
                ScriptOutputType.INTEGER,
                Long.toString(micros),
                Long.toString(micros * limit.burst()));
    }

    /** The script of Spring Cloud Gateway's RedisRateLimiter, without the layers of Spring above it. */
    static RedisLimiter gateway(RedisClient client, RedisURI uri, String[] keys, BucketSize limit) throws IOException {
        String[][] names = Arrays.stream(keys)
                .map(key -> "request_rate_limiter.{" + key + "}.")
                .map(prefix -> new String[] {prefix + "tokens", prefix + "timestamp"})
                .toArray(String[][]::new);
        return new ScriptOnRedis(
                client.connect(),
                gatewayScript(),
                names,
                ScriptOutputType.MULTI,
                Long.toString(limit.permits()),
                Long.toString(limit.burst()),
                "",
                "1");
    }

    static String gatewayScript() throws IOException {
        try (InputStream in = ScriptOnRedis.class.getResourceAsStream(GATEWAY_RESOURCE)) {
            if (in == null) {
                throw new IllegalStateException("resource " + GATEWAY_RESOURCE + " is missing");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    @Override
    public void tryAcquire(int key, Receiver receiver) {
        commands.<Object>evalsha(digest, type, keys[key], arguments)
                .whenComplete((reply, error) -> receiver.complete(error == null && isAllowed(reply), error));
    }

    private static boolean isAllowed(Object reply) {
        return Long.valueOf(1).equals(reply instanceof List<?> list ? list.get(0) : reply);
    }

    @Override
    public void close() {
        connection.close();
    }
}
