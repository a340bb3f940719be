package io.github.reactorratelimit.benchmarks.redis;

import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * The script of Spring Cloud Gateway's RedisRateLimiter, from its jar, called by Lettuce's futures: without the layers of
 * Spring above, so faster than as shipped. It counts in whole tokens per second; slower limits are told by the cost of an ask.
 */
final class GatewayScript implements Target {

    private static final String RESOURCE = "/META-INF/scripts/request_rate_limiter.lua";

    private final StatefulRedisConnection<String, String> connection;
    private final RedisAsyncCommands<String, String> commands;
    private final String digest;
    private final String[][] keys;
    private final long tokensPerPermit;
    private final String rate;
    private final String capacity;

    private GatewayScript(StatefulRedisConnection<String, String> connection, String[][] keys, Limit limit)
            throws IOException {
        this.connection = connection;
        this.commands = connection.async();
        this.digest = connection.sync().scriptLoad(script());
        this.keys = keys;
        long seconds = limit.period().toSeconds();
        this.tokensPerPermit = Math.max(1, seconds / limit.permits());
        this.rate = Long.toString(Math.max(1, limit.permits() / seconds));
        this.capacity = Long.toString(limit.capacity() * tokensPerPermit);
    }

    static Target open(RedisBench bench, String name, int keys, Limit limit) throws IOException {
        String[][] names = Names.of(keys, String[][]::new, key -> {
            String prefix = "request_rate_limiter.{" + name + "." + key + "}.";
            return new String[] {prefix + "tokens", prefix + "timestamp"};
        });
        return new GatewayScript(bench.client().connect(), names, limit);
    }

    private static String script() throws IOException {
        try (InputStream in = GatewayScript.class.getResourceAsStream(RESOURCE)) {
            if (in == null) {
                throw new IllegalStateException("resource " + RESOURCE + " is missing");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    @Override
    public void ask(int key, long permits, Answer answer) {
        String cost = Long.toString(permits * tokensPerPermit);
        commands.<List<Object>>evalsha(digest, ScriptOutputType.MULTI, keys[key], rate, capacity, "", cost)
                .whenComplete((reply, error) ->
                        answer.complete(error == null && reply.get(0).equals(1L), error));
    }

    @Override
    public void close() {
        connection.close();
    }
}
