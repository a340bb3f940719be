package io.github.reactorratelimit.testing.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.testing.Await;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandTimeoutException;
import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(RedisExtension.class)
class FaultProxyTest {

    private static final Duration SHORT = Duration.ofMillis(100);

    private final String key = "fault-proxy-test-" + UUID.randomUUID();
    private final Standalone redis;
    private final FaultProxy proxy;
    private final RedisClient client;

    FaultProxyTest(Standalone redis) {
        this.redis = redis;
        this.proxy = FaultProxy.before(redis.uri());
        this.client = RedisClient.create(Clients.RESOURCES, proxy.uri());
    }

    private StatefulRedisConnection<String, String> connection;

    @BeforeEach
    void connect() {
        client.setOptions(ClientOptions.builder().autoReconnect(false).build());
        connection = client.connect();
    }

    @AfterEach
    void close() {
        client.shutdown();
        proxy.close();
    }

    @Test
    void commandsAndBytesAreCountedByTheWire() {
        long bytesBefore = proxy.requestBytes();
        assertThat(connection.sync().set(key, "0123456789")).isEqualTo("OK");
        IntStream.range(0, 5).forEach(i -> connection.sync().get(key));
        connection.sync().<Long>eval("return redis.call('strlen', KEYS[1])", ScriptOutputType.INTEGER, key);

        assertThat(proxy.commands("SET")).isEqualTo(1);
        assertThat(proxy.commands("GET")).isEqualTo(5);
        assertThat(proxy.commands("EVAL")).isEqualTo(1);
        assertThat(proxy.commands()).doesNotContainKey("STRLEN");
        assertThat(proxy.connections()).isEqualTo(1);
        assertThat(proxy.requestBytes() - bytesBefore).isGreaterThan(6L * key.length());
        assertThat(proxy.replyBytes()).isGreaterThan(50);
    }

    @Test
    void latencyDelaysEveryAnswerAndKeepsTheOrder() throws Exception {
        proxy.latency(SHORT);
        long startNanos = System.nanoTime();
        RedisFuture<Long> first = connection.async().incr(key);
        CompletableFuture<Long> firstNanos =
                first.thenApply(value -> System.nanoTime() - startNanos).toCompletableFuture();
        Await.until("first command at the proxy", () -> proxy.commands("INCR") == 1);
        proxy.latency(Duration.ofMillis(1));
        List<RedisFuture<Long>> overtakers = IntStream.range(0, 50)
                .mapToObj(i -> connection.async().incr(key))
                .toList();

        assertThat(firstNanos.get(10, TimeUnit.SECONDS)).isGreaterThanOrEqualTo(SHORT.toNanos());
        assertThat(first.get()).isEqualTo(1);
        assertThat(overtakers)
                .extracting(RedisFuture::get)
                .containsExactlyElementsOf(LongStream.rangeClosed(2, 51).boxed().toList());
    }

    @Test
    void delayedReplyComesFromACommandThatHasRun() throws Exception {
        proxy.delayReplies(Duration.ofSeconds(2));
        RedisFuture<Long> answer = connection.async().incr(key);

        awaitValue("1");
        assertThat(answer.isDone()).isFalse();
    }

    @Test
    void stalledCommandRunsWhenTheStallEnds() throws Exception {
        proxy.stall();
        RedisFuture<Long> answer = connection.async().incr(key);
        Await.until("command at the proxy", () -> proxy.commands("INCR") == 1);
        assertThat(value()).isNull();

        proxy.pass();

        assertThat(answer.get(10, TimeUnit.SECONDS)).isEqualTo(1);
    }

    @Test
    void blackHoleSwallowsCommandsForGood() {
        connection.setTimeout(SHORT);
        proxy.blackHole();
        assertThatThrownBy(() -> connection.sync().incr(key)).isInstanceOf(RedisCommandTimeoutException.class);

        proxy.pass();

        Await.until("connection that lost bytes is reset", () -> !connection.isOpen());
        assertThat(client.connect().sync().incr(key)).isEqualTo(1);
    }

    @Test
    void blackHoleAcceptsConnections() {
        proxy.blackHole();
        long connectionsBefore = proxy.connections();
        RedisURI impatient = proxy.uri();
        impatient.setTimeout(SHORT);
        assertThatThrownBy(() -> client.connect(impatient)).isInstanceOf(RedisConnectionException.class);
        assertThat(proxy.connections()).isGreaterThan(connectionsBefore);
    }

    @Test
    void commandRunsThoughItsReplyIsDropped() {
        connection.setTimeout(SHORT);
        proxy.dropReplies();
        assertThatThrownBy(() -> connection.sync().incr(key)).isInstanceOf(RedisCommandTimeoutException.class);
        awaitValue("1");
    }

    @Test
    void truncatedReplyEndsTheConnection() {
        connection.sync().set(key, "0123456789");
        proxy.truncateReplies(7);
        assertThatThrownBy(() -> connection.sync().get(key)).isInstanceOf(RedisException.class);
        Await.until("connection closed", () -> !connection.isOpen());

        proxy.pass();

        assertThat(client.connect().sync().get(key)).isEqualTo("0123456789");
    }

    @Test
    void resetConnectionReconnectsAfterTheGivenTime() throws Exception {
        client.setOptions(ClientOptions.create());
        StatefulRedisConnection<String, String> lasting = client.connect();
        long connectionsBefore = proxy.connections();

        proxy.reset(Duration.ofMillis(20));

        assertThat(lasting.async().incr(key).get(10, TimeUnit.SECONDS)).isEqualTo(1);
        assertThat(proxy.connections()).isEqualTo(connectionsBefore + 1);
        assertThat(connection.isOpen()).isFalse();
    }

    @Test
    void refusalLastsUntilItIsLifted() {
        proxy.refuse();
        assertThatThrownBy(client::connect)
                .isInstanceOf(RedisConnectionException.class)
                .hasStackTraceContaining("Connection refused");
        assertThat(proxy.connections()).isEqualTo(1);

        proxy.pass();

        assertThat(client.connect().sync().ping()).isEqualTo("PONG");
    }

    private void awaitValue(String expected) {
        Await.until("value " + expected, () -> expected.equals(value()));
    }

    private String value() {
        try (StatefulRedisConnection<String, String> direct = redis.connect()) {
            return direct.sync().get(key);
        }
    }
}
