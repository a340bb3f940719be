package io.github.reactorratelimit.redis.harness;

import io.github.reactorratelimit.testing.redis.Cluster;
import io.github.reactorratelimit.testing.redis.FaultProxy;
import io.github.reactorratelimit.testing.redis.RedisServer;
import io.github.reactorratelimit.testing.redis.Sentinels;
import io.github.reactorratelimit.testing.redis.Standalone;
import java.util.List;
import java.util.UUID;

/** Servers of one fault's own, and a connection to them. */
final class FaultSite implements AutoCloseable {

    private final String run = "fault-" + UUID.randomUUID();
    private final Connected connected;
    private final List<Object> servers;
    private final Runnable end;

    private FaultSite(Connected connected, Runnable end, Object... servers) {
        this.connected = connected;
        this.end = end;
        this.servers = List.of(servers);
    }

    static FaultSite standalone() {
        Standalone redis = Standalone.start();
        FaultProxy proxy = FaultProxy.before(redis.uri());
        return new FaultSite(
                Connected.to(proxy.uri()),
                () -> {
                    proxy.close();
                    redis.close();
                },
                proxy,
                redis);
    }

    static FaultSite sentinels() {
        Sentinels sentinels = Sentinels.start(1);
        return new FaultSite(Connected.to(sentinels.uri()), sentinels::close, sentinels);
    }

    static FaultSite cluster() {
        Cluster cluster = Cluster.start();
        return new FaultSite(Connected.toCluster(cluster.uris()), cluster::close, cluster);
    }

    String run() {
        return run;
    }

    Connected connected() {
        return connected;
    }

    FaultProxy proxy() {
        return find(FaultProxy.class);
    }

    RedisServer server() {
        return find(Standalone.class).server();
    }

    Sentinels asSentinels() {
        return find(Sentinels.class);
    }

    Cluster asCluster() {
        return find(Cluster.class);
    }

    private <T> T find(Class<T> type) {
        return servers.stream()
                .filter(type::isInstance)
                .map(type::cast)
                .findFirst()
                .orElseThrow();
    }

    @Override
    public void close() {
        connected.close();
        end.run();
    }
}
