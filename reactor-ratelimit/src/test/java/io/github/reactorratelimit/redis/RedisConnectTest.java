package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.Cluster;
import io.github.reactorratelimit.testing.redis.FaultProxy;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Sentinels;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.resource.Delay;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;

@ExtendWith(RedisExtension.class)
class RedisConnectTest {

    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private static String addressOf(RedisURI uri) {
        return uri.getHost() + ":" + uri.getPort();
    }

    /** One limiter waits for what another gives back, in another process as far as they can tell. */
    private static void assertThatSharedLimitAndSignalsWork(Mono<RedisStore> connecting) {
        RedisStore one = connecting.block(PATIENCE);
        RedisStore other = connecting.block(PATIENCE);
        String name = "connect-" + UUID.randomUUID();
        RateLimiter giving = limiter(one, name);
        RateLimiter waiting = limiter(other, name);
        assertThat(giving.tryAcquire("k").block(PATIENCE).allowed()).isTrue();
        assertThat(waiting.tryAcquire("k").block(PATIENCE).allowed()).isFalse();
        Mono<?> wait = waiting.acquire("k").cache();
        wait.subscribe();

        giving.reset("k").block(PATIENCE);

        assertThat(wait.block(PATIENCE)).isNotNull();
        waiting.close().then(other.close()).block(PATIENCE);
        giving.close().then(one.close()).block(PATIENCE);
        assertThat(limiter(one, name).tryAcquire("k").block(PATIENCE).degraded())
                .as("closed")
                .isTrue();
    }

    private static RateLimiter limiter(RedisStore store, String name) {
        return RateLimiter.builder(FixedWindow.of(1, Duration.ofDays(300)).fromFirstRequest())
                .name(name)
                .store(store.withDeadline(PATIENCE))
                .build();
    }

    @Test
    void connectsToAServer(Standalone redis) {
        assertThatSharedLimitAndSignalsWork(RedisStore.connect(redis.uri()));
    }

    @Test
    void connectsToTheMasterThatSentinelsName(Sentinels sentinels) {
        assertThatSharedLimitAndSignalsWork(RedisStore.connect(sentinels.uri()));
    }

    @Test
    void connectsToACluster(Cluster cluster) {
        assertThatSharedLimitAndSignalsWork(RedisStore.connectCluster(
                "redis://" + addressOf(cluster.uris().get(0)),
                "redis://" + addressOf(cluster.uris().get(1))));
    }

    @Test
    void howeverLongRedisWasAwayItIsTriedAgainWithinASecond(Standalone redis) {
        RedisConnector.Opened link = RedisConnector.connect(redis.uri()).block(PATIENCE);

        Delay delay = link.connection().getResources().reconnectDelay();

        assertThat(IntStream.of(1, 2, 5, 10, 20, 60, 1_000).mapToObj(delay::createDelay))
                .allMatch(wait -> wait.compareTo(RedisConnector.RECONNECT_AT_LEAST_EVERY) <= 0)
                .noneMatch(Duration::isZero);
        link.closing().block(PATIENCE);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void noThreadOfItsOwnIsLeftWhenItIsClosed(boolean clustered, Standalone redis, Cluster cluster) {
        Set<Thread> before = lettuceThreads();
        RedisConnector.Opened link = (clustered
                        ? RedisConnector.connectCluster(cluster.uris())
                        : RedisConnector.connect(redis.uri()))
                .block(PATIENCE);
        Set<Thread> own = lettuceThreads();
        own.removeAll(before);
        assertThat(own).isNotEmpty();

        link.closing().block(PATIENCE);

        Await.until("the threads have ended", () -> own.stream().noneMatch(Thread::isAlive));
    }

    private static Set<Thread> lettuceThreads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("lettuce-"))
                .collect(Collectors.toCollection(HashSet::new));
    }

    @Test
    void optionsSuitALimiter(Standalone redis, Cluster cluster) {
        RedisConnector.Opened alone = RedisConnector.connect(redis.uri()).block(PATIENCE);
        assertThat(ConnectionOptions.advice(alone.connection().getOptions())).isEmpty();
        alone.closing().block(PATIENCE);
        RedisConnector.Opened clustered =
                RedisConnector.connectCluster(cluster.uris()).block(PATIENCE);
        assertThat(ConnectionOptions.advice(clustered.connection().getOptions()))
                .isEmpty();
        clustered.closing().block(PATIENCE);
    }

    @Test
    void storeIsDeliveredOnAThreadThatMayBlock(Standalone redis) {
        String thread = RedisStore.connect(redis.uri())
                .flatMap(
                        store -> store.close().thenReturn(Thread.currentThread().getName()))
                .block(PATIENCE);
        assertThat(thread).startsWith("boundedElastic");
    }

    @Test
    void timeoutIsFiveSecondsUnlessTheUriSaysOtherwise() {
        assertThat(RedisConnector.parse("redis://h").getTimeout()).isEqualTo(Duration.ofSeconds(5));
        assertThat(RedisConnector.parse("redis://h?timeout=200ms").getTimeout()).isEqualTo(Duration.ofMillis(200));
    }

    @Test
    void refusedConnectionNamesHostAndPortAndNoPassword(Standalone redis) {
        try (FaultProxy nobody = FaultProxy.before(redis.uri())) {
            nobody.refuse();
            String address = addressOf(nobody.uri());
            String uri = "redis://alice:s3cr3t@" + address;
            for (Mono<RedisStore> refused : List.of(
                    RedisStore.connect(uri),
                    RedisStore.connectCluster(uri),
                    RedisStore.connect("redis-sentinel://s3cr3t@" + address + "#main"))) {
                assertThatThrownBy(() -> refused.block(PATIENCE))
                        .isInstanceOf(RedisUnavailableException.class)
                        .hasMessageContaining("cannot connect to Redis at " + address)
                        .hasMessageContaining("Is a server up there")
                        .satisfies(error -> assertThat(printed(error)).doesNotContain("s3cr3t"));
            }
        }
    }

    private static String printed(Throwable error) {
        StringWriter text = new StringWriter();
        error.printStackTrace(new PrintWriter(text));
        return text.toString();
    }

    @Test
    void wrongPasswordSaysWhereToPutIt() {
        try (Standalone redis = Standalone.start("user default on ~* &* +@all nopass", "user bob on ~* +@all >right")) {
            String address = addressOf(redis.uri());
            assertThatThrownBy(() ->
                            RedisStore.connect("redis://bob:wr0ng@" + address).block(PATIENCE))
                    .isInstanceOf(RedisUnavailableException.class)
                    .hasMessageContaining(address)
                    .hasMessageContaining("WRONGPASS")
                    .hasMessageContaining("redis://user:password@host:port")
                    .satisfies(error -> assertThat(printed(error)).doesNotContain("wr0ng"));
        }
    }

    @Test
    void silentServerIsGivenUpAfterTheTimeoutOfTheUri(Standalone redis) {
        try (FaultProxy silent = FaultProxy.before(redis.uri())) {
            silent.blackHole();
            assertThatThrownBy(() -> RedisStore.connect("redis://" + addressOf(silent.uri()) + "?timeout=200ms")
                            .block(PATIENCE))
                    .isInstanceOf(RedisUnavailableException.class)
                    .hasMessageContaining(addressOf(silent.uri()));
        }
    }

    @Test
    void cancellingWhileConnectingLeavesNoConnection(Standalone redis) {
        try (FaultProxy slow = FaultProxy.before(redis.uri());
                StatefulRedisConnection<String, String> admin = redis.connect()) {
            RedisURI uri = slow.uri();
            uri.setClientName("cancelled-" + UUID.randomUUID());
            uri.setTimeout(Duration.ofHours(1));
            slow.delayReplies(Duration.ofHours(1));
            Disposable connecting = RedisStore.connect(uri).subscribe();
            Await.until("connecting", () -> admin.sync().clientList().contains(uri.getClientName()));

            connecting.dispose();

            Await.until("gone", () -> !admin.sync().clientList().contains(uri.getClientName()));
        }
    }

    @Test
    void storeOnAConnectionThatWasHandedInLeavesItOpen(Standalone redis) {
        try (StatefulRedisConnection<String, String> connection = redis.connect()) {
            RedisStore.of(connection).close().block(PATIENCE);
            assertThat(connection.sync().ping()).isEqualTo("PONG");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "localhost", "http://alice:s3cr3t@host", "redis//:s3cr3t@host", "redis://a b:s3cr3t@h"})
    void whatIsNoUriIsRefusedAtOnceAndNotShown(String uri) {
        assertThatThrownBy(() -> RedisStore.connect(uri))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("uri must look like redis://host:port")
                .satisfies(error -> assertThat(printed(error)).doesNotContain("s3cr3t"));
    }

    @Test
    void clusterWithoutNodesIsRefusedAtOnce() {
        assertThatThrownBy(RedisStore::connectCluster)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("uris must name");
    }
}
