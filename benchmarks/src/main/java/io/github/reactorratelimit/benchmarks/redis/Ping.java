package io.github.reactorratelimit.benchmarks.redis;

import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;

/** Decides nothing: what a round trip costs. */
final class Ping implements Target {

    private final StatefulRedisConnection<String, String> connection;
    private final RedisAsyncCommands<String, String> commands;

    private Ping(StatefulRedisConnection<String, String> connection) {
        this.connection = connection;
        this.commands = connection.async();
    }

    static Target open(RedisBench bench, String name, int keys, Limit limit) {
        return new Ping(bench.client().connect());
    }

    @Override
    public void ask(int key, long permits, Answer answer) {
        commands.ping().whenComplete((pong, error) -> answer.complete(true, error));
    }

    @Override
    public void close() {
        connection.close();
    }
}
