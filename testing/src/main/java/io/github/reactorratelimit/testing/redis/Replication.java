package io.github.reactorratelimit.testing.redis;

import java.util.List;

/** What {@code INFO replication} says. */
final class Replication {

    private Replication() {}

    static boolean isMaster(RedisServer server) {
        return info(server).contains("role:master");
    }

    static boolean inSyncWith(RedisServer master, RedisServer replica) {
        return info(replica)
                .containsAll(List.of("role:slave", "master_port:" + master.port(), "master_link_status:up"));
    }

    static boolean isReplicaInSync(RedisServer server) {
        return info(server).containsAll(List.of("role:slave", "master_link_status:up"));
    }

    private static List<String> info(RedisServer server) {
        return server.ask(commands -> commands.info("replication")).lines().toList();
    }
}
