package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.Cluster;
import io.github.reactorratelimit.testing.redis.FaultProxy;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.event.connection.ConnectionDeactivatedEvent;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;

/** Stores that are there before their connections are. */
@ExtendWith(RedisExtension.class)
class ConnectAsideTest {

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final FixedWindow ONCE =
            FixedWindow.of(1, Duration.ofDays(300)).fromFirstRequest();

    private final String name = "aside-" + UUID.randomUUID();
    private final Deque<AutoCloseable> opened = new ArrayDeque<>();

    @AfterEach
    void close() throws Exception {
        while (!opened.isEmpty()) {
            opened.pop().close();
        }
    }

    private RateLimiter limiter(RedisStore store) {
        opened.push(() -> store.close().block(PATIENCE));
        RateLimiter limiter = RateLimiter.builder(ONCE)
                .name(name)
                .store(store.withDeadline(PATIENCE))
                .build();
        opened.push(() -> limiter.close().block(PATIENCE));
        return limiter;
    }

    private RedisClient client(FaultProxy proxy) {
        RedisClient client = RedisClient.create(proxy.uri());
        opened.push(() -> client.shutdown(Duration.ZERO, Duration.ofSeconds(1)));
        return client;
    }

    private static String text(FaultProxy proxy) {
        return "redis://127.0.0.1:" + proxy.uri().getPort();
    }

    private static boolean isDegraded(RateLimiter limiter, String key) {
        return limiter.peek(key).block(PATIENCE).degraded();
    }

    /** Nobody there at first; then the limit and its signals work as if it had been there from the start. */
    private void connectsWhenItCan(Standalone redis, Function<FaultProxy, RedisStore> store) {
        try (FaultProxy proxy = FaultProxy.before(redis.uri());
                StatefulRedisConnection<String, String> admin = redis.connect()) {
            proxy.refuse();
            RedisStore late = store.apply(proxy);
            RateLimiter waiting = limiter(late);
            assertThat(waiting.tryAcquire("k").block(PATIENCE))
                    .matches(Decision::degraded)
                    .matches(decision -> !decision.allowed(), "closed");
            assertThat(late.selfTest().block(PATIENCE).passed()).isFalse();

            proxy.pass();
            Await.until("connected", () -> !isDegraded(waiting, "k"));
            Await.until(
                    "the self-test passes",
                    () -> late.selfTest().block(PATIENCE).passed());
            String channel = new RedisKeys("ratelimit", name).signalChannel();
            Await.until("it listens", () -> admin.sync().pubsubNumsub(channel).get(channel) == 1);

            RateLimiter giving = limiter(
                    RedisStore.connectAside("redis://127.0.0.1:" + redis.uri().getPort()));
            Await.until("the other is connected", () -> !isDegraded(giving, "k"));
            assertThat(giving.tryAcquire("k").block(PATIENCE).allowed()).isTrue();
            CompletableFuture<Decision> wait = waiting.acquire("k").toFuture();
            giving.reset("k").block(PATIENCE);
            assertThat(wait).succeedsWithin(PATIENCE).matches(Decision::allowed);
        }
    }

    @Test
    void aServerThatComesLaterIsConnectedTo(Standalone redis) {
        connectsWhenItCan(redis, proxy -> RedisStore.connectAside(text(proxy)));
    }

    @Test
    void aClientOfTheUsersConnectsLater(Standalone redis) {
        connectsWhenItCan(redis, proxy -> RedisStore.connectAside(client(proxy)));
    }

    @Test
    void aClusterIsConnectedToAside(Cluster cluster) {
        RedisClusterClient client = RedisClusterClient.create(cluster.uris());
        opened.push(() -> client.shutdown(Duration.ZERO, Duration.ofSeconds(1)));
        String[] uris = cluster.uris().stream()
                .map(uri -> "redis://" + uri.getHost() + ":" + uri.getPort())
                .toArray(String[]::new);
        RateLimiter named = limiter(RedisStore.connectClusterAside(uris));
        RateLimiter onClient = limiter(RedisStore.connectAside(client));
        for (RateLimiter limiter : List.of(named, onClient)) {
            Await.until("connected", () -> !isDegraded(limiter, "k"));
        }
        assertThat(named.tryAcquire("k").block(PATIENCE).allowed()).isTrue();
        assertThat(onClient.tryAcquire("k").block(PATIENCE).allowed()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"open", "closed", "local"})
    void theFailureModeAnswersUntilThen(String mode, Standalone redis) {
        try (FaultProxy proxy = FaultProxy.before(redis.uri())) {
            proxy.refuse();
            FailureMode chosen = switch (mode) {
                case "open" -> FailureMode.open();
                case "closed" -> FailureMode.closed();
                default -> FailureMode.local(ONCE);
            };
            RateLimiter limiter = limiter(RedisStore.connectAside(text(proxy)).whenUnavailable(chosen));
            assertThat(limiter.tryAcquire("k").block(PATIENCE).allowed()).isEqualTo(!mode.equals("closed"));
            assertThat(limiter.tryAcquire("k").block(PATIENCE).allowed()).isEqualTo(mode.equals("open"));
        }
    }

    @Test
    void nothingIsConnectedToBeforeALimiterNeedsIt() {
        AtomicInteger attempts = new AtomicInteger();
        Mono<RedisConnector.Opened> connecting = Mono.defer(() -> {
            attempts.incrementAndGet();
            return Mono.never();
        });
        RedisConnections link = RedisConnections.later(connecting, false);
        assertThat(attempts).hasValue(0);
        link.open();
        link.open();
        assertThat(attempts).hasValue(1);
    }

    @Test
    void closingEndsTheAttempts() {
        AtomicInteger left = new AtomicInteger();
        RedisConnections link =
                RedisConnections.later(Mono.<RedisConnector.Opened>never().doOnCancel(left::incrementAndGet), false);
        link.open();
        link.close().block(PATIENCE);
        assertThat(left).hasValue(1);
    }

    @Test
    void aConnectionThatComesWhenTheStoreIsClosedIsClosed(Standalone redis) {
        AtomicInteger closed = new AtomicInteger();
        try (StatefulRedisConnection<String, String> connection = redis.connect()) {
            RedisConnector.Opened made =
                    new RedisConnector.Opened(connection, null, Mono.fromRunnable(closed::incrementAndGet));
            AtomicReference<RedisConnections> link = new AtomicReference<>();
            Mono<RedisConnector.Opened> connecting = Mono.fromSupplier(() -> {
                link.get().close().block(PATIENCE);
                return made;
            });
            link.set(RedisConnections.later(connecting, false));
            link.get().open();
            assertThat(closed).hasValue(1);
        }
    }

    /** A user's client connects by calls that block: a cancel does not end them. */
    @Test
    void connectionsThatAUsersClientMakesTooLateAreClosed(Standalone redis) {
        RedisClient client = RedisClient.create(redis.uri());
        opened.push(() -> client.shutdown(Duration.ZERO, Duration.ofSeconds(1)));
        AtomicInteger closed = new AtomicInteger();
        client.getResources()
                .eventBus()
                .get()
                .ofType(ConnectionDeactivatedEvent.class)
                .subscribe(event -> closed.incrementAndGet());

        RedisConnector.connect(client).subscribe().dispose();

        Await.until("the one for commands and the one for signals are closed", () -> closed.get() == 2);
    }

    @Test
    void aClientThatIsRefusedIsToldWhyAndWhatToDo(Standalone redis) {
        RedisURI uri =
                RedisURI.builder(redis.uri()).withAuthentication("bob", "wr0ng").build();
        RedisClient client = RedisClient.create(uri);
        opened.push(() -> client.shutdown(Duration.ZERO, Duration.ofSeconds(1)));
        RedisStore store = RedisStore.connectAside(client);
        limiter(store);
        Await.until("it is known why", () -> {
            String why = store.selfTest().block(PATIENCE).findings().toString();
            return why.contains("WRONGPASS") && why.contains("redis://user:password@host:port");
        });
    }

    @Test
    void whatIsNoAddressIsRefusedAtOnce() {
        assertThatThrownBy(() -> RedisStore.connectAside("http://example.org"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("redis://host:port");
        assertThatThrownBy(() -> RedisStore.connectClusterAside()).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void signalsAreThereAlready(Standalone redis) {
        RedisClient client = RedisClient.create(redis.uri());
        opened.push(() -> client.shutdown(Duration.ZERO, Duration.ofSeconds(1)));
        StatefulRedisPubSubConnection<String, String> another = client.connectPubSub();
        assertThatThrownBy(() -> RedisStore.connectAside(client).withSignals(another))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("signals already");
    }
}
