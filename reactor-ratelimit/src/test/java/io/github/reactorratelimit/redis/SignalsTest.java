package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.Cluster;
import io.github.reactorratelimit.testing.redis.FaultProxy;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Schedulers;

/** The window recovers after days: a wait ends only because a signal was heard. */
@ExtendWith(RedisExtension.class)
class SignalsTest {

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final FixedWindow POLICY =
            FixedWindow.of(1, Duration.ofDays(300)).fromFirstRequest();

    private final String name = "signals {%} " + UUID.randomUUID();
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

    private RedisClient client(RedisURI uri) {
        RedisClient client = RedisClient.create(uri);
        opened.push(() -> client.shutdown(Duration.ZERO, Duration.ofSeconds(1)));
        return client;
    }

    private RateLimiter limiter(RedisStore store) {
        RateLimiter limiter = RateLimiter.builder(POLICY)
                .name(name)
                .store(store.withDeadline(PATIENCE))
                .build();
        opened.push(() -> limiter.close().block(PATIENCE));
        return limiter;
    }

    private RateLimiter limiterOn(Standalone redis) {
        RedisClient client = client(redis.uri());
        return limiter(RedisStore.of(client.connect()).withSignals(client.connectPubSub()));
    }

    private static CompletableFuture<Decision> waitAt(RateLimiter limiter, String key) {
        CompletableFuture<Decision> wait = limiter.acquire(key).toFuture();
        Await.until(
                "the first ask answered",
                () -> !limiter.tryAcquire(key).block(PATIENCE).allowed());
        return wait;
    }

    private void awaitSubscribers(StatefulRedisConnection<String, String> admin, long count) {
        String channel = new RedisKeys("ratelimit", name).signalChannel();
        Await.until(
                count + " subscribers", () -> admin.sync().pubsubNumsub(channel).get(channel) == count);
    }

    @Test
    void waiterIsServedWhenAnotherProcessGivesBack(Standalone redis) {
        RateLimiter one = limiterOn(redis);
        RateLimiter other = limiterOn(redis);
        awaitSubscribers(closing(redis.connect()), 2);
        for (String key : new String[] {"k", "{x}", "100%", "\ud83d\ude00", "\ud800", "a\u0000b"}) {
            Decision taken = one.tryAcquire(key).block(PATIENCE);
            CompletableFuture<Decision> wait = waitAt(other, key);
            assertThat(wait).isNotDone();

            one.refund(taken).block(PATIENCE);

            assertThat(wait).succeedsWithin(PATIENCE).matches(Decision::allowed);
        }
    }

    @Test
    void waiterIsServedWhenAnotherProcessResets(Standalone redis) {
        RateLimiter one = limiterOn(redis);
        RateLimiter other = limiterOn(redis);
        awaitSubscribers(closing(redis.connect()), 2);
        one.tryAcquire("k").block(PATIENCE);
        CompletableFuture<Decision> wait = waitAt(other, "k");

        one.reset("k").block(PATIENCE);

        assertThat(wait).succeedsWithin(PATIENCE).matches(Decision::allowed);
    }

    @Test
    void withoutSignalsNobodyNotices(Standalone redis) {
        RateLimiter one = limiterOn(redis);
        RateLimiter deaf = limiter(RedisStore.of(closing(redis.connect())));
        RateLimiter hearing = limiterOn(redis);
        awaitSubscribers(closing(redis.connect()), 2);
        one.tryAcquire("k").block(PATIENCE);
        CompletableFuture<Decision> unserved = waitAt(deaf, "k");
        CompletableFuture<Decision> served = waitAt(hearing, "k");

        one.reset("k").block(PATIENCE);

        assertThat(served).succeedsWithin(PATIENCE).matches(Decision::allowed);
        assertThat(unserved).isNotDone();
    }

    @Test
    void signalsCrossTheNodesOfACluster(Cluster cluster) {
        RateLimiter one = limiterOn(cluster);
        RateLimiter other = limiterOn(cluster);
        for (int i = 0; i < 20; i++) {
            String key = "k" + i;
            one.tryAcquire(key).block(PATIENCE);
            CompletableFuture<Decision> wait = waitAt(other, key);

            one.reset(key).block(PATIENCE);

            assertThat(wait).succeedsWithin(PATIENCE).matches(Decision::allowed);
        }
    }

    private RateLimiter limiterOn(Cluster cluster) {
        RedisClusterClient client = RedisClusterClient.create(cluster.uris());
        opened.push(() -> client.shutdown(Duration.ZERO, Duration.ofSeconds(1)));
        return limiter(RedisStore.of(client.connect()).withSignals(client.connectPubSub()));
    }

    @Test
    void whatHappenedWhileTheConnectionWasCutIsNoticedAfterIt(Standalone redis) {
        RateLimiter one = limiterOn(redis);
        FaultProxy proxy = closing(FaultProxy.before(redis.uri()));
        RateLimiter other = limiter(RedisStore.of(closing(redis.connect()))
                .withSignals(client(proxy.uri()).connectPubSub()));
        StatefulRedisConnection<String, String> admin = closing(redis.connect());
        // The first subscription is handled up to 100 ms later, perhaps in the first round: only a reconnect can serve
        // the second.
        for (String key : List.of("first", "second")) {
            awaitSubscribers(admin, 2);
            one.tryAcquire(key).block(PATIENCE);
            CompletableFuture<Decision> wait = waitAt(other, key);
            proxy.refuse();
            awaitSubscribers(admin, 1);
            one.reset(key).block(PATIENCE);

            proxy.pass();

            assertThat(wait).succeedsWithin(PATIENCE).matches(Decision::allowed);
        }
    }

    @Test
    void limiterThatOpensWhileTheConnectionIsCutHearsAfterIt(Standalone redis) {
        RateLimiter one = limiterOn(redis);
        FaultProxy proxy = closing(FaultProxy.before(redis.uri()));
        StatefulRedisPubSubConnection<String, String> pubSub =
                rejecting(client(proxy.uri())).connectPubSub();
        proxy.refuse();
        RateLimiter other = limiter(RedisStore.of(closing(redis.connect())).withSignals(pubSub));
        one.tryAcquire("k").block(PATIENCE);
        CompletableFuture<Decision> wait = waitAt(other, "k");
        proxy.pass();
        awaitSubscribers(closing(redis.connect()), 2);

        one.reset("k").block(PATIENCE);

        assertThat(wait).succeedsWithin(PATIENCE).matches(Decision::allowed);
    }

    private static RedisClient rejecting(RedisClient client) {
        client.setOptions(client.getOptions()
                .mutate()
                .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                .build());
        return client;
    }

    @Test
    void whatIsNoSignalIsIgnoredAndTheNextOneIsHeard(Standalone redis) {
        RateLimiter one = limiterOn(redis);
        RateLimiter other = limiterOn(redis);
        StatefulRedisConnection<String, String> admin = closing(redis.connect());
        awaitSubscribers(admin, 2);
        String channel = new RedisKeys("ratelimit", name).signalChannel();
        one.tryAcquire("k").block(PATIENCE);
        CompletableFuture<Decision> wait = waitAt(other, "k");
        for (String garbage : new String[] {"", "x", "zk", "f%", "f%12", "f%zzzz", "f", "e", "eabc", "\u0000"}) {
            assertThat(admin.sync().publish(channel, garbage)).isEqualTo(2);
        }

        one.reset("k").block(PATIENCE);

        assertThat(wait).succeedsWithin(PATIENCE).matches(Decision::allowed);
    }

    @Test
    void channelIsSubscribedFromTheFirstLimiterToTheLast(Standalone redis) {
        RedisClient client = client(redis.uri());
        RedisStore store = RedisStore.of(client.connect()).withSignals(client.connectPubSub());
        StatefulRedisConnection<String, String> admin = closing(redis.connect());
        RateLimiter first = limiter(store);
        RateLimiter second = limiter(store);
        awaitSubscribers(admin, 1);
        first.close().block(PATIENCE);
        Decision taken = second.tryAcquire("k").block(PATIENCE);
        CompletableFuture<Decision> wait = waitAt(second, "k");
        limiter(RedisStore.of(closing(redis.connect())));
        second.refund(taken).block(PATIENCE);
        assertThat(wait).succeedsWithin(PATIENCE).matches(Decision::allowed);

        second.close().block(PATIENCE);

        awaitSubscribers(admin, 0);
    }

    @Test
    void storeThatSharesTheConnectionKeepsItsChannelWhenTheOtherLeaves(Standalone redis) {
        RedisClient client = client(redis.uri());
        StatefulRedisPubSubConnection<String, String> pubSub = client.connectPubSub();
        RateLimiter leaving = limiter(RedisStore.of(client.connect()).withSignals(pubSub));
        RateLimiter staying = limiter(RedisStore.of(client.connect()).withSignals(pubSub));
        RateLimiter one = limiterOn(redis);
        StatefulRedisConnection<String, String> admin = closing(redis.connect());
        awaitSubscribers(admin, 2);
        one.tryAcquire("k").block(PATIENCE);
        CompletableFuture<Decision> wait = waitAt(staying, "k");

        leaving.close().block(PATIENCE);
        one.reset("k").block(PATIENCE);

        assertThat(wait).succeedsWithin(PATIENCE).matches(Decision::allowed);
    }

    @Test
    void publishingWithoutAConnectionThrowsNothing(Standalone redis) {
        RedisClient client = client(redis.uri());
        StatefulRedisConnection<String, String> commands = client.connect();
        SignalChannel signals = channel(commands, client.connectPubSub());
        commands.close();

        signals.publish(SignalChannel.Kind.FREED, "k");
        signals.publish(SignalChannel.Kind.FREED, "k");

        Await.until("none counts as in flight", () -> !signals.isSending());
    }

    @Test
    void signalWhoseSendingThrowsIsLostAndTheNextOneIsSent(Standalone redis) {
        Sinks.One<RedisConnector.Opened> connected = Sinks.one();
        RedisConnections connections = RedisConnections.later(connected.asMono(), false);
        connections.open();
        SignalChannel signals = channel(connections);
        signals.publish(SignalChannel.Kind.FREED, "k");
        assertThat(signals.isSending()).isFalse();

        FaultProxy proxy = closing(FaultProxy.before(redis.uri()));
        RedisClient client = client(proxy.uri());
        connected.tryEmitValue(new RedisConnector.Opened(client.connect(), client.connectPubSub(), Mono.empty()));
        signals.publish(SignalChannel.Kind.FREED, "k");

        Await.until("it is published", () -> proxy.commands().getOrDefault("PUBLISH", 0L) == 1);
    }

    private SignalChannel channel(
            StatefulRedisConnection<String, String> commands, StatefulRedisPubSubConnection<String, String> pubSub) {
        return channel(RedisConnections.of(commands).withSignals(pubSub));
    }

    private SignalChannel channel(RedisConnections connections) {
        LimiterSettings settings = new LimiterSettings(
                name, POLICY, Schedulers.parallel(), Schedulers.parallel(), RateLimitRecorder.NOOP, 1, true);
        return new SignalChannel(connections, new RedisKeys("ratelimit", name), settings);
    }

    @Test
    void sameSignalUnderWayIsSentOnceMoreAndNoOftener(Standalone redis) {
        FaultProxy proxy = closing(FaultProxy.before(redis.uri()));
        RedisClient client = client(proxy.uri());
        SignalChannel signals = channel(client.connect(), client.connectPubSub());
        proxy.stall();
        for (int i = 0; i < 1_000; i++) {
            signals.publish(SignalChannel.Kind.FREED, "k");
        }
        proxy.pass();

        Await.until("two published", () -> proxy.commands().getOrDefault("PUBLISH", 0L) == 2);
        signals.publish(SignalChannel.Kind.FREED, "end");
        Await.until("the end published", () -> proxy.commands().getOrDefault("PUBLISH", 0L) >= 3);
        assertThat(proxy.commands()).containsEntry("PUBLISH", 3L);
    }
}
