package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.redis.ScriptReply.Answer;
import io.github.reactorratelimit.testing.Seeds;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import java.time.Duration;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Calls as a store makes them, on a real server. */
@ExtendWith(RedisExtension.class)
class ScriptCallTest {

    private static final long MINUTE = 60_000_000;

    private final StatefulRedisConnection<String, String> connection;
    private final RedisCommands<String, String> redis;
    private final ScriptCalls calls;
    private final String key = UUID.randomUUID().toString();

    ScriptCallTest(Standalone server) {
        connection = server.connect();
        redis = connection.sync();
        calls = new ScriptCalls(connection);
    }

    @AfterEach
    void close() {
        connection.close();
    }

    /** Times are whole minutes and so no state ends while the test runs. */
    @Test
    void callsInFlightTogetherAreAnsweredAsTheJavaStepsDo() throws Exception {
        long seed = Seeds.of("calls by SHA-1");
        SplittableRandom random = new SplittableRandom(seed);
        RateLimitPolicy policy = Policies.all(
                TokenBucket.of(70, Duration.ofMinutes(30)),
                FixedWindow.of(90, Duration.ofMinutes(50)),
                SlidingWindowLog.of(80, Duration.ofMinutes(40)),
                SlidingWindowCounter.of(100, Duration.ofMinutes(60)));
        PolicyArguments arguments = PolicyArguments.of(policy, 0);
        JavaTwin<?> twin = JavaTwin.of(policy, 0);
        redis.scriptLoad(arguments.script().text());
        List<RedisFuture<List<Object>>> replies = new ArrayList<>();
        List<List<Answer>> expected = new ArrayList<>();
        long now = 29_300_000 * MINUTE;
        for (int i = 0; i < 1_000; i++) {
            now += random.nextInt(4) * MINUTE;
            List<Ask> asks = List.of(Ask.take(1 + random.nextInt(9)), Ask.giveBack(1, now), Ask.look(1));
            String[] keys = ScriptCalls.keys(arguments, key);
            replies.add(calls.call(arguments.script(), keys, ScriptArguments.at(now, arguments, asks)));
            expected.add(twin.call(now, asks));
        }
        for (int i = 0; i < replies.size(); i++) {
            assertThat(ScriptReply.parse(replies.get(i).get(), ScriptCalls.takes(3), 4)
                            .answers())
                    .isEqualTo(expected.get(i));
        }
    }

    @Test
    void withoutATimeTheServersIsReadOnceForAllAsks() {
        PolicyArguments policy = PolicyArguments.of(TokenBucket.of(1_000, Duration.ofHours(1)), 0);
        long before = serverMicros();
        ScriptReply reply = eval(policy, ScriptArguments.bare(policy, Collections.nCopies(256, Ask.take(1)), 0), 256);
        long after = serverMicros();

        assertThat(reply.key().nowMicros()).isBetween(before, after);
        assertThat(reply.answers().get(0)).isEqualTo(new Answer(true, 999, 0, 3_600_000, 0, 3_600_000));
        assertThat(reply.answers().get(255)).isEqualTo(new Answer(true, 744, 0, 256 * 3_600_000L, 0, 3_600_000));
    }

    @Test
    void whatFlushedTheScriptsCostsNoPermit() {
        try (Standalone own = Standalone.start()) {
            RedisCommands<String, String> commands = own.connect().sync();
            PolicyArguments policy = PolicyArguments.of(Gcra.of(10, Duration.ofHours(1)), 0);
            String[] keys = ScriptCalls.keys(policy, key);
            String[] arguments = ScriptArguments.bare(policy, List.of(Ask.take(1)), 0);
            for (int remaining = 9; remaining > 6; remaining--) {
                String sha = policy.script().sha1();
                commands.scriptFlush();
                assertThatThrownBy(() -> commands.evalsha(sha, ScriptOutputType.MULTI, keys, arguments))
                        .isInstanceOf(RedisNoScriptException.class);
                Object reply = commands.eval(policy.script().text(), ScriptOutputType.MULTI, keys, arguments);
                assertThat(ScriptReply.parse(reply, ScriptCalls.takes(1), 1)
                                .answers()
                                .get(0)
                                .remaining())
                        .isEqualTo(remaining);
                assertThat(commands.scriptExists(sha)).containsExactly(true);
            }
        }
    }

    @Test
    void timeOutsideTheCalendarWindowsIsToldAndChangesNothing() {
        PolicyArguments policy = PolicyArguments.of(
                Policies.all(TokenBucket.of(10, Duration.ofHours(1)), FixedWindow.daily(5, ZoneId.of("Asia/Tokyo"))),
                0);
        List<Ask> asks = List.of(Ask.take(1));
        long now = serverMicros();
        long stale = now - TimeUnit.DAYS.toMicros(3);

        Throwable error = catchThrowable(() -> eval(policy, ScriptArguments.bare(policy, asks, stale), 1));

        assertThat(error).isInstanceOf(RedisCommandExecutionException.class);
        OptionalLong told = ScriptReply.outsideWindows(error.getMessage());
        assertThat(told).isPresent();
        assertThat(told.getAsLong()).isBetween(now, serverMicros());
        assertThat(redis.exists(ScriptCalls.keys(policy, key))).isZero();
        assertThat(eval(policy, ScriptArguments.bare(policy, asks, told.getAsLong()), 1)
                        .answers()
                        .get(0)
                        .remaining())
                .isEqualTo(4);
    }

    @Test
    void daysNextToTheOneTheClientThinksOfAreKnown() {
        PolicyArguments policy = PolicyArguments.of(FixedWindow.daily(5, ZoneId.of("Asia/Tokyo")), 0);
        long now = serverMicros();
        for (long about : new long[] {now - TimeUnit.DAYS.toMicros(1), now, now + TimeUnit.DAYS.toMicros(1)}) {
            eval(policy, ScriptArguments.bare(policy, List.of(Ask.take(1)), about), 1);
        }
        assertThat(eval(policy, ScriptArguments.bare(policy, List.of(Ask.look(1)), now), 1)
                        .answers()
                        .get(0)
                        .remaining())
                .isEqualTo(2);
    }

    @Test
    void whatIsNoCallIsAnErrorThatSaysWhy() {
        String script = PolicyArguments.of(TokenBucket.perSecond(1), 0).script().text();
        assertThatThrownBy(() ->
                        redis.eval(script, ScriptOutputType.MULTI, new String[] {key}, "", "", "1", "sliding_log", "0"))
                .hasMessage("ERR unknown algorithm sliding_log");
        assertThatThrownBy(() -> redis.eval(
                        script,
                        ScriptOutputType.MULTI,
                        new String[] {key},
                        "",
                        "",
                        "1",
                        "gcra",
                        "5",
                        "1",
                        "1",
                        "1",
                        "0",
                        "0",
                        "0",
                        "z",
                        "1",
                        "0"))
                .hasMessage("ERR unknown op z");
        assertThatThrownBy(
                        () -> redis.eval(script, ScriptOutputType.MULTI, new String[] {key}, "4503599627370496", "0"))
                .hasMessageContaining("time is not below 2^52: 4503599627370496");
        assertThat(redis.exists(key)).isZero();
    }

    private ScriptReply eval(PolicyArguments policy, String[] arguments, int asks) {
        Object reply =
                redis.eval(policy.script().text(), ScriptOutputType.MULTI, ScriptCalls.keys(policy, key), arguments);
        return ScriptReply.parse(
                reply, ScriptCalls.takes(asks), policy.partNames().size());
    }

    private long serverMicros() {
        List<String> time = redis.time();
        return Long.parseLong(time.get(0)) * 1_000_000 + Long.parseLong(time.get(1));
    }
}
