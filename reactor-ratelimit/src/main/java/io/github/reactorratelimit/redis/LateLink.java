package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.redis.SelfTest.Finding;
import io.github.reactorratelimit.redis.SelfTest.Severity;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** Connections that are being made: until they are there, every call fails as one to a server that is away. */
final class LateLink implements Carrier {

    private final Arrival arrival;
    private final boolean clustered;
    private final boolean selfTest;

    /** However many limiters come and go before there is a connection, each prefix waits for it once. */
    private final Set<String> toTest = ConcurrentHashMap.newKeySet();

    /**
     * Begins to connect when the first limiter is opened.
     *
     * @param connecting connects anew on each subscription
     */
    LateLink(Mono<RedisLink> connecting, boolean clustered) {
        this(new Arrival(connecting), clustered, true);
    }

    private LateLink(Arrival arrival, boolean clustered, boolean selfTest) {
        this.arrival = arrival;
        this.clustered = clustered;
        this.selfTest = selfTest;
    }

    @Override
    public RedisClusterAsyncCommands<String, String> commands() {
        RedisLink there = arrival.link();
        if (there == null) {
            throw new RedisUnavailableException(arrival.reason());
        }
        return there.commands();
    }

    @Override
    public RedisCodec<String, String> codec() {
        return StringCodec.UTF8;
    }

    @Override
    public boolean isOnCluster() {
        return clustered;
    }

    @Override
    public Object wire() {
        return arrival;
    }

    @Override
    public Signals signals(RedisKeys keys) {
        return new LateSignals(arrival.asMono().map(link -> link.signals(keys)));
    }

    @Override
    public void opened(String prefix) {
        arrival.begin();
        if (selfTest && toTest.add(prefix)) {
            arrival.asMono().subscribe(link -> link.opened(prefix));
        }
    }

    @Override
    public Mono<SelfTest> selfTest(String prefix) {
        return Mono.defer(() -> {
            @Nullable RedisLink there = arrival.link();
            return there == null
                    ? Mono.just(new SelfTest(List.of(new Finding(Severity.ERROR, arrival.reason()))))
                    : there.selfTest(prefix);
        });
    }

    @Override
    public void check() {
        RedisLink there = arrival.link();
        if (there != null) {
            there.check();
        }
    }

    @Override
    public Carrier withoutSelfTest() {
        return new LateLink(arrival, clustered, false);
    }

    @Override
    public Carrier withSignals(StatefulRedisPubSubConnection<String, String> pubSub) {
        throw new IllegalStateException("a store that connects aside has signals already");
    }

    @Override
    public Mono<Void> close() {
        return arrival.close();
    }
}
