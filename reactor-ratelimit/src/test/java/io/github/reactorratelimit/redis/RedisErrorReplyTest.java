package io.github.reactorratelimit.redis;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitException;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterBuilder;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.FaultProxy;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;

/** Redis answers, but with an error: a permission is missing, or a key holds something else. */
class RedisErrorReplyTest {

    private static final Duration PATIENCE = ofSeconds(30);
    private static final Duration MINUTE = Duration.ofMinutes(1);
    private static final int MANY = 30;

    private static Standalone redis;

    private final String name = "error-" + UUID.randomUUID();
    private final LogLines log = LogLines.about(name);
    private final HandClock clock = new HandClock();
    private final AtomicInteger failures = new AtomicInteger();
    private final RateLimitRecorder recorder = new RateLimitRecorder() {
        @Override
        public void counted(Event event, long permits) {
            if (event == Event.STORE_FAILED) {
                failures.incrementAndGet();
            }
        }
    };
    private RedisStore store;

    @BeforeAll
    static void start() {
        redis = Standalone.start(
                "user noset on >pw resetchannels ~* +@all -set",
                "user noeval on >pw resetchannels ~* +@all -eval -evalsha",
                "user nokeys on >pw resetchannels ~elsewhere:* +@all",
                "user changed on >pw resetchannels ~* +@all",
                "user all on >pw resetchannels ~* +@all");
    }

    @AfterAll
    static void stop() {
        redis.close();
    }

    @AfterEach
    void close() {
        if (store != null) {
            store.close().block(PATIENCE);
        }
        log.close();
    }

    private static String as(String user, int port) {
        return "redis://" + user + ":pw@127.0.0.1:" + port;
    }

    private RateLimiterBuilder limiter(String user, RateLimitPolicy policy, FailureMode mode) {
        return limiter(user, redis.uri().getPort(), policy, mode);
    }

    private RateLimiterBuilder limiter(String user, int port, RateLimitPolicy policy, FailureMode mode) {
        store = RedisStore.connect(as(user, port)).block(PATIENCE).withoutSelfTest();
        return RateLimiter.builder(policy)
                .name(name)
                .recorder(recorder)
                .scheduler(clock)
                .store(store.withDeadline(PATIENCE).whenUnavailable(mode));
    }

    private void fails(Mono<?> request) {
        assertThatThrownBy(() -> request.block(PATIENCE))
                .isInstanceOf(RedisErrorReplyException.class)
                .isInstanceOf(RateLimitException.class)
                .satisfies(error -> assertThat(error.getStackTrace()).isEmpty())
                .hasNoCause();
    }

    @ParameterizedTest
    @CsvSource({
        "noset, Allow +set",
        "noeval, Allow +evalsha",
        "nokeys, Allow ~ratelimit:*",
    })
    void refusedPermissionIsAnErrorOfItsOwnThatIsCountedAndLoggedOnceAMinuteWithWhatToSet(String user, String advice) {
        RateLimiter limiter =
                limiter(user, TokenBucket.perHour(100), FailureMode.open()).build();
        for (int i = 0; i < MANY; i++) {
            fails(limiter.tryAcquire("secret"));
            fails(limiter.acquire("secret"));
        }
        assertThat(failures).hasValueGreaterThanOrEqualTo(2 * MANY);
        assertThat(log.all())
                .as("lines of the first minute")
                .singleElement()
                .asString()
                .contains(advice);
        assertThat(log.containing("secret")).isEmpty();

        clock.advance(MINUTE);
        fails(limiter.tryAcquire("secret"));
        assertThat(log.all()).as("lines after a minute").hasSize(2);
    }

    @Test
    void commandThatTheServerDoesNotKnowIsNoOutage() {
        try (Standalone other =
                Standalone.start("user all on >pw resetchannels ~* +@all", "rename-command EVALSHA \"\"")) {
            RateLimiter limiter = limiter(
                            "all", other.uri().getPort(), SlidingWindowLog.of(100, ofHours(1)), FailureMode.open())
                    .build();
            for (int i = 0; i < MANY; i++) {
                fails(limiter.tryAcquire("secret"));
            }
            assertThat(failures).hasValueGreaterThanOrEqualTo(MANY);
            assertThat(log.all()).singleElement().asString().containsIgnoringCase("unknown command 'evalsha'");
            assertThat(log.containing("secret")).isEmpty();
            store.close().block(PATIENCE);
        }
    }

    @Test
    void everyModeAndKindOfRequestFailsAlike() {
        List<FailureMode> modes =
                List.of(FailureMode.open(), FailureMode.closed(), FailureMode.local(TokenBucket.perHour(1)));
        for (FailureMode mode : modes) {
            RateLimiter limiter =
                    limiter("noeval", TokenBucket.perHour(100), mode).build();
            fails(limiter.tryAcquire("k"));
            fails(limiter.peek("k"));
            fails(limiter.pause("k", MINUTE));
            fails(limiter.reset("k"));
            fails(RateLimiter.acquireAll(
                    List.of(RateLimiter.permits(limiter, "a"), RateLimiter.permits(limiter, "b"))));
            store.close().block(PATIENCE);
        }
        RateLimiter limiter =
                limiter("noeval", ConcurrencyLimit.of(3), FailureMode.open()).build();
        fails(limiter.acquireLease("k", 1, Duration.ZERO));
    }

    /** Of a command that the script calls, one key has the error; of the script's own call all of it. */
    @ParameterizedTest
    @ValueSource(strings = {"-llen", "-evalsha"})
    void errorReplyAfterAnOutageEndsTheOutage(String refused) {
        acl("SETUSER", "changed", "+@all");
        try (FaultProxy proxy = FaultProxy.before(redis.uri())) {
            store = RedisStore.connect(as("changed", proxy.uri().getPort()))
                    .block(PATIENCE)
                    .withoutSelfTest();
            RateLimiter limiter = RateLimiter.builder(SlidingWindowLog.of(1_000, ofHours(1)))
                    .name(name)
                    .store(store.withDeadline(ofSeconds(2)).whenUnavailable(FailureMode.open()))
                    .build();
            Await.until(
                    "Redis answers",
                    () -> !limiter.tryAcquire("k").block(PATIENCE).degraded());
            proxy.refuse();
            for (int i = 0; i < 2 * CircuitBreaker.FAILURES_IN_A_ROW; i++) {
                assertThat(limiter.tryAcquire("k").block(PATIENCE).degraded()).isTrue();
            }
            acl("SETUSER", "changed", refused);
            proxy.pass();
            Await.until("Redis answers with an error", () -> isRefused(limiter.tryAcquire("k")));
            for (int i = 0; i < MANY; i++) {
                fails(limiter.tryAcquire("k"));
            }
        }
    }

    private static void acl(String... arguments) {
        redis.server()
                .ask(server -> server.dispatch(
                        CommandType.ACL,
                        new StatusOutput<>(StringCodec.UTF8),
                        new CommandArgs<>(StringCodec.UTF8).addValues(arguments)));
    }

    private static boolean isRefused(Mono<Decision> request) {
        try {
            request.block(PATIENCE);
            return false;
        } catch (RedisErrorReplyException refused) {
            return true;
        }
    }

    @Test
    void corruptKeyIsCountedAndLoggedOnceAMinuteWithWhatToDo() {
        RateLimiter limiter =
                limiter("all", TokenBucket.perHour(100), FailureMode.open()).build();
        limiter.tryAcquire("secret").block(PATIENCE);
        redis.server().ask(server -> {
            String key = server.keys("*" + name + "*").get(0);
            server.del(key);
            return server.sadd(key, "other");
        });
        for (int i = 0; i < MANY; i++) {
            assertThatThrownBy(() -> limiter.tryAcquire("secret").block(PATIENCE))
                    .isInstanceOf(RedisCorruptStateException.class);
        }
        assertThat(failures).hasValueGreaterThanOrEqualTo(MANY);
        assertThat(log.all())
                .singleElement()
                .asString()
                .contains("another type")
                .contains("Delete the key");
        assertThat(log.containing("secret")).isEmpty();

        clock.advance(MINUTE);
        assertThatThrownBy(() -> limiter.tryAcquire("secret").block(PATIENCE))
                .isInstanceOf(RedisCorruptStateException.class);
        assertThat(log.all()).hasSize(2);
    }
}
