package io.github.reactorratelimit.testing.redis;

import io.lettuce.core.RedisURI;
import java.util.List;

/** Redis as a client meets it: one server, a replica set under Sentinels, or a cluster. */
public sealed interface Topology extends AutoCloseable permits Standalone, Sentinels, Cluster {

    /** The servers that hold data and are up. */
    List<RedisURI> dataServers();

    /** Ends the processes and the connections that {@code connect()} made. */
    @Override
    void close();
}
