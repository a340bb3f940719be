package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.FaultProxy;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.cluster.PipelinedRedisFuture;
import io.lettuce.core.cluster.SlotHash;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** What is wrong in Redis, or on the way to it, as a user of a limiter meets it. */
@ExtendWith(RedisExtension.class)
class RedisBadInputTest {

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final Duration HOUR = Duration.ofHours(1);

    private final Standalone redis;
    private final StatefulRedisConnection<String, String> connection;
    private final String name = "bad-" + UUID.randomUUID();

    RedisBadInputTest(Standalone redis) {
        this.redis = redis;
        this.connection = redis.connect();
    }

    @AfterEach
    void close() {
        connection.close();
    }

    private RateLimiter limiter(RedisStore store, RateLimitPolicy policy) {
        return RateLimiter.builder(policy).name(name).store(store).build();
    }

    private RateLimiter limiter(RateLimitPolicy policy) {
        return limiter(RedisStore.of(connection).withDeadline(PATIENCE).whenUnavailable(FailureMode.open()), policy);
    }

    private String keyInRedis() {
        return connection.sync().keys("ratelimit:{" + name + ":k}*").get(0);
    }

    @ParameterizedTest
    @EnumSource
    void anotherTypeInTheKeyIsAnErrorAlsoForWhoeverWaits(StoredValueTest.Kind kind) {
        RateLimiter limiter = limiter(kind.policy.policy());
        limiter.tryAcquire("k").block(PATIENCE);
        String key = keyInRedis();
        connection.sync().del(key);
        connection.sync().sadd(key, "1", "2");

        assertThatThrownBy(() -> limiter.tryAcquire("k").block(PATIENCE))
                .isInstanceOf(RedisCorruptStateException.class);
        assertThatThrownBy(() -> limiter.acquire("k").block(PATIENCE)).isInstanceOf(RedisCorruptStateException.class);
        assertThatThrownBy(() -> limiter.peek("k").block(PATIENCE)).isInstanceOf(RedisCorruptStateException.class);
        assertThat(connection.sync().smembers(key)).containsExactlyInAnyOrder("1", "2");
    }

    @Test
    void timestampTenYearsAheadLocksOutNoLongerThanARefill() {
        RateLimiter limiter = limiter(Gcra.of(10, HOUR));
        limiter.tryAcquire("k").block(PATIENCE);
        long tenYearsAheadMicros =
                (System.currentTimeMillis() + Duration.ofDays(3_650).toMillis()) * 1_000;
        connection.sync().set(keyInRedis(), "11" + tenYearsAheadMicros);

        Decision decision = limiter.tryAcquire("k").block(PATIENCE);

        assertThat(decision.allowed()).isFalse();
        assertThat(decision.retryAfter())
                .get()
                .satisfies(retry -> assertThat(retry).isLessThanOrEqualTo(HOUR));
    }

    @Test
    void stateThatNeverExpiresIsUsedAndExpiresAgain() {
        RateLimiter limiter = limiter(TokenBucket.of(10, HOUR));
        limiter.tryAcquire("k").block(PATIENCE);
        connection.sync().persist(keyInRedis());

        assertThat(limiter.tryAcquire("k").block(PATIENCE).remaining()).isEqualTo(8);

        assertThat(connection.sync().pttl(keyInRedis())).isPositive();
    }

    @Test
    void replyOfOneElementIsAnErrorInEveryMode() {
        for (FailureMode mode : modes()) {
            RedisStore store = RedisStore.of(answering(List.of("1")))
                    .withoutSelfTest()
                    .withDeadline(PATIENCE)
                    .whenUnavailable(mode);
            RateLimiter limiter = limiter(store, TokenBucket.perHour(10));
            assertThatThrownBy(() -> limiter.tryAcquire("k").block(PATIENCE)).isInstanceOf(RedisReplyException.class);
        }
    }

    /** As of a version of Lettuce without a method that is called: no outage, so no failure mode may hide it. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    @SuppressWarnings("unchecked")
    void anErrorOfTheClientLibraryReachesTheCaller(boolean isPlain) {
        RedisAsyncCommands<String, String> commands = fake(RedisAsyncCommands.class, (proxy, method, arguments) -> {
            if (method.getName().equals("dispatch")) {
                throw new NoSuchMethodError("dispatch");
            }
            return method.invoke(connection.async(), arguments);
        });
        StatefulRedisConnection<String, String> faulty = fake(
                StatefulRedisConnection.class,
                (proxy, method, arguments) ->
                        method.getName().equals("async") ? commands : method.invoke(connection, arguments));
        RateLimitPolicy policy = isPlain ? TokenBucket.perHour(10) : SlidingWindowLog.of(10, HOUR);
        for (FailureMode mode : modes()) {
            RedisStore store = RedisStore.of(faulty).withoutSelfTest().whenUnavailable(mode);
            RateLimiter limiter = limiter(store, policy);
            // The first requests of a limiter, and those after a failure, may take a way that is not broken.
            List<Object> answers = Flux.range(0, 10)
                    .concatMap(i -> limiter.tryAcquire("k").cast(Object.class).onErrorResume(Mono::just))
                    .collectList()
                    .block(PATIENCE);
            assertThat(answers).hasAtLeastOneElementOfType(NoSuchMethodError.class);
            assertThat(answers)
                    .allSatisfy(answer -> assertThat(
                                    answer instanceof Decision decision
                                            ? !decision.degraded()
                                            : answer instanceof NoSuchMethodError)
                            .as("%s", answer)
                            .isTrue());
        }
    }

    private static List<FailureMode> modes() {
        return List.of(FailureMode.open(), FailureMode.closed(), FailureMode.local(TokenBucket.perHour(1)));
    }

    /** A connection to a server that answers every script so. */
    @SuppressWarnings("unchecked")
    private StatefulRedisConnection<String, String> answering(Object reply) {
        RedisAsyncCommands<String, String> commands = fake(
                RedisAsyncCommands.class,
                (proxy, method, arguments) -> new PipelinedRedisFuture<>(CompletableFuture.completedFuture(reply)));
        return fake(
                StatefulRedisConnection.class,
                (proxy, method, arguments) ->
                        method.getName().equals("async") ? commands : method.invoke(connection, arguments));
    }

    private static <T> T fake(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }

    @Test
    void aMinuteOfLatencyDelaysNobody() {
        try (FaultProxy proxy = FaultProxy.before(redis.uri())) {
            RedisStore store = RedisStore.connect(proxy.uri()).block(PATIENCE);
            proxy.latency(Duration.ofSeconds(61));
            for (FailureMode mode : modes()) {
                RateLimiter limiter = limiter(store.whenUnavailable(mode), TokenBucket.perHour(10));
                for (int i = 0; i < 10; i++) {
                    assertThat(limiter.tryAcquire("k").block(PATIENCE).degraded())
                            .isTrue();
                }
            }
            store.close().block(PATIENCE);
        }
    }

    @Test
    void refusedConnectionIsAnsweredByEveryModeUntilThereIsOneAgain() {
        try (FaultProxy proxy = FaultProxy.before(redis.uri())) {
            RedisStore store = RedisStore.connect(proxy.uri()).block(PATIENCE);
            proxy.refuse();
            for (FailureMode mode : modes()) {
                RateLimiter limiter = limiter(store.whenUnavailable(mode), TokenBucket.perHour(10));
                for (int i = 0; i < 10; i++) {
                    Decision decision = limiter.tryAcquire("k").block(PATIENCE);
                    assertThat(decision.degraded()).isTrue();
                    assertThat(decision.allowed())
                            .isEqualTo(
                                    mode instanceof FailureMode.Open || (mode instanceof FailureMode.Local && i == 0));
                }
            }
            proxy.pass();
            RateLimiter limiter = limiter(store, TokenBucket.perHour(10));
            Await.until(
                    "Redis decides",
                    () -> !limiter.tryAcquire("k").block(PATIENCE).degraded());
            store.close().block(PATIENCE);
        }
    }

    @Test
    void policyMadeStricterUnderALiveKeyKeepsWhatWasSpent() {
        FixedWindow window = FixedWindow.of(100, Duration.ofDays(300)).fromFirstRequest();
        limiter(window).tryAcquire("k", 80).block(PATIENCE);

        RateLimiter stricter = limiter(FixedWindow.of(90, window.window()).fromFirstRequest());
        assertThat(stricter.peek("k").block(PATIENCE).remaining()).isEqualTo(10);
        RateLimiter strictest = limiter(FixedWindow.of(10, window.window()).fromFirstRequest());
        assertThat(strictest.tryAcquire("k").block(PATIENCE).allowed()).isFalse();
    }

    @Test
    void strangeKeysAreStableAndDistinct() {
        String longest = "x".repeat(64 * 1024);
        List<String> keys = List.of(
                "\0",
                "a\0b",
                "a",
                "\ud83d\ude00",
                "\ud83d",
                "\ude00",
                "?",
                "\ufffd",
                "{x}",
                "{x",
                "x}",
                "x",
                "{}",
                "%",
                "%007B",
                ":",
                "k}:x:{k",
                longest,
                longest.substring(1),
                "sha256:x");
        RateLimiter limiter = limiter(FixedWindow.of(2, Duration.ofDays(300)).fromFirstRequest());
        for (long left = 1; left >= 0; left--) {
            for (String key : keys) {
                assertThat(limiter.tryAcquire(key).block(PATIENCE).remaining())
                        .as("key of %d characters", key.length())
                        .isEqualTo(left);
            }
        }
        assertThatThrownBy(() -> limiter.tryAcquire(longest + "x").block(PATIENCE))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void bracesOfTheUserChooseNoSlot() {
        RedisKeys keys = new RedisKeys("ratelimit", "orders{x}");
        assertThat(IntStream.range(0, 100)
                        .mapToObj(i -> keys.named("{x}" + i))
                        .peek(key -> assertThat(SlotHash.getSlot(key + ":log")).isEqualTo(SlotHash.getSlot(key)))
                        .map(SlotHash::getSlot)
                        .distinct())
                .hasSizeGreaterThan(90);
    }

    @Test
    void whatIsEscapedIsReadBack() {
        for (char c = 0; c < Character.MAX_VALUE; c++) {
            String text = "a" + c + "b";
            assertThat(RedisKeys.unescape(RedisKeys.escape(text))).contains(text);
        }
        for (String no : Arrays.asList("%", "%7B", "%00zz", "a%", "%007b")) {
            assertThat(RedisKeys.unescape(no)).isEmpty();
        }
    }
}
