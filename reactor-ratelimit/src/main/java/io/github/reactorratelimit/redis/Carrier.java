package io.github.reactorratelimit.redis;

import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import reactor.core.publisher.Mono;

/** What a store stands on: connections that are there ({@link RedisLink}), or will be ({@link LateLink}). */
interface Carrier {

    /**
     * Sends commands.
     *
     * @throws RedisUnavailableException if there is no connection yet: nothing was sent
     */
    RedisClusterAsyncCommands<String, String> commands();

    /** How the connection writes keys. */
    RedisCodec<String, String> codec();

    /** Whether the keys of a call must lie in one slot; never changes. */
    boolean isOnCluster();

    /** The same object for all that send over the same connection. */
    Object wire();

    Signals signals(RedisKeys keys);

    /** A limiter was opened: tests the connections once for each prefix, and delays nobody. */
    void opened(String prefix);

    /** One answer, never an error. */
    Mono<SelfTest> selfTest(String prefix);

    /** A call missed its deadline: replaces connections that are dead, and delays nobody. */
    void check();

    Carrier withoutSelfTest();

    Carrier withSignals(StatefulRedisPubSubConnection<String, String> pubSub);

    Mono<Void> close();
}
