package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.Cluster;
import io.github.reactorratelimit.testing.redis.FaultProxy;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.internal.HostAndPort;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.DnsResolver;
import io.lettuce.core.resource.MappingSocketAddressResolver;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Flux;

/** A network that forgets connections without a word: those that are open answer no more, new ones work. */
@Tag("slow")
@ExtendWith(RedisExtension.class)
class DeadConnectionTest {

    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final String name = "dead-" + UUID.randomUUID();
    private final Deque<AutoCloseable> opened = new ArrayDeque<>();

    @AfterEach
    void close() throws Exception {
        while (!opened.isEmpty()) {
            opened.pop().close();
        }
    }

    private <T extends AutoCloseable> T closing(T resource) {
        opened.push(resource);
        return resource;
    }

    private RateLimiter limiter(RedisStore store) {
        opened.push(() -> store.close().block(PATIENCE));
        return limiter(store, TokenBucket.perSecond(1_000_000));
    }

    private RateLimiter limiter(RedisStore store, TokenBucket policy) {
        RateLimiter limiter = RateLimiter.builder(policy)
                .name(name)
                .store(store.withoutSelfTest())
                .build();
        opened.push(() -> limiter.close().block(PATIENCE));
        return limiter;
    }

    private RedisClient client(FaultProxy proxy) {
        RedisClient client = RedisClient.create(proxy.uri());
        opened.push(() -> client.shutdown(Duration.ZERO, Duration.ofSeconds(1)));
        return client;
    }

    /** Whether some keys are, of enough to reach every master of a Cluster. */
    private static boolean isDegraded(RateLimiter limiter) {
        return Flux.range(0, 50)
                .flatMap(i -> limiter.tryAcquire("k" + i))
                .any(Decision::degraded)
                .block(PATIENCE);
    }

    private static void comesBack(RateLimiter limiter, FaultProxy proxy) {
        Await.until("connected", () -> !isDegraded(limiter));

        proxy.blackHoleOpenOnes();

        Await.until("degraded", () -> isDegraded(limiter));
        Await.until("connected again", () -> !isDegraded(limiter));
    }

    @Test
    void aConnectionThatTheStoreMadeIsReplaced(Standalone redis) {
        FaultProxy proxy = closing(FaultProxy.before(redis.uri()));
        RedisStore store = RedisStore.connect(proxy.uri()).block(PATIENCE);
        comesBack(limiter(store), proxy);
    }

    @Test
    void aConnectionOfTheUsersClientIsReplaced(Standalone redis) {
        FaultProxy proxy = closing(FaultProxy.before(redis.uri()));
        comesBack(limiter(RedisStore.connectAside(client(proxy))), proxy);
    }

    @Test
    void aConnectionThatWasHandedInIsReplaced(Standalone redis) {
        FaultProxy proxy = closing(FaultProxy.before(redis.uri()));
        StatefulRedisConnection<String, String> connection =
                closing(client(proxy).connect());
        comesBack(limiter(RedisStore.of(connection)), proxy);
        assertThat(connection.sync().ping()).isEqualTo("PONG");
    }

    @Test
    void signalsAreHeardAgain(Standalone redis) {
        FaultProxy proxy = closing(FaultProxy.before(redis.uri()));
        RedisStore store = RedisStore.connect(proxy.uri()).block(PATIENCE);
        comesBack(limiter(store), proxy);

        TokenBucket once = TokenBucket.of(1, Duration.ofDays(300));
        RateLimiter waiting = limiter(store.withDeadline(PATIENCE), once);
        RedisStore direct = RedisStore.connect(redis.uri()).block(PATIENCE);
        opened.push(() -> direct.close().block(PATIENCE));
        RateLimiter giving = limiter(direct.withDeadline(PATIENCE), once);
        assertThat(giving.tryAcquire("one").block(PATIENCE).allowed()).isTrue();
        CompletableFuture<Decision> wait = waiting.acquire("one").toFuture();
        Await.until("a signal is heard", () -> {
            giving.reset("one").block(PATIENCE);
            return wait.isDone();
        });
        assertThat(wait.join().allowed()).isTrue();
    }

    @Test
    void aConnectionThatAnswersLateIsKept(Standalone redis) {
        FaultProxy proxy = closing(FaultProxy.before(redis.uri()));
        RateLimiter limiter = limiter(RedisStore.connect(proxy.uri()).block(PATIENCE));
        Await.until("connected", () -> !isDegraded(limiter));
        long connections = proxy.connections();
        long pings = proxy.commands("PING");

        proxy.latency(Duration.ofMillis(100));
        Await.until("checked twice", () -> isDegraded(limiter) && proxy.commands("PING") >= pings + 2);
        proxy.pass();
        Await.until("it answers in time again", () -> !isDegraded(limiter));

        assertThat(proxy.connections()).isEqualTo(connections);
    }

    /** One master's connection is dead, the others answer: those hide nothing. */
    @Test
    void theConnectionToOneMasterOfAClusterIsReplaced(Cluster cluster) {
        Map<Integer, FaultProxy> proxies = cluster.dataServers().stream()
                .collect(Collectors.toMap(uri -> uri.getPort(), uri -> closing(FaultProxy.before(uri))));
        ClientResources resources = ClientResources.builder()
                .socketAddressResolver(MappingSocketAddressResolver.create(DnsResolver.unresolved(), asked -> {
                    FaultProxy proxy = proxies.get(asked.getPort());
                    return proxy == null
                            ? asked
                            : HostAndPort.of("127.0.0.1", proxy.uri().getPort());
                }))
                .build();
        opened.push(() -> resources.shutdown(0, 1, TimeUnit.SECONDS));
        RedisClusterClient client = RedisClusterClient.create(resources, cluster.uris());
        opened.push(() -> client.shutdown(Duration.ZERO, Duration.ofSeconds(1)));
        StatefulRedisClusterConnection<String, String> connection = closing(client.connect());
        RateLimiter limiter = limiter(RedisStore.of(connection));
        comesBack(limiter, proxies.get(cluster.masters().get(0).uri().getPort()));
    }
}
