package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.redis.ScriptReply.Answer;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What stands in Redis: its form, its time to live, its size, and what happens if it is not ours. */
@ExtendWith(RedisExtension.class)
class StoredStateTest {

    private static final long NOW = 1_758_000_000_123_456L;
    private static final long HOUR = 3_600_000_000L;
    private static final long TEN_YEARS = 10 * 365 * 24 * HOUR;

    /** Each recovers within two hours. */
    enum Kind {
        BUCKET(TokenBucket.of(10, Duration.ofHours(1)), 6 * 60_000, "1758000360123456"),
        FRACTIONS(TokenBucket.of(7, Duration.ofHours(1)), 514_286, "1758000514409170 2"),
        QUEUE(new LeakyBucket(10, Duration.ofHours(1), 5), 360_000, "1758000360123456"),
        STEPWISE(TokenBucket.of(10, Duration.ofHours(1)).stepwise(), 3_600_000, "1758000000123456 1"),
        WINDOW(FixedWindow.of(10, Duration.ofHours(1)), 2_400_000, "1757998800000000 1758002400000000 1"),
        FIRST_REQUEST(
                FixedWindow.of(10, Duration.ofHours(1)).fromFirstRequest(),
                3_600_000,
                "1758000000123456 1758003600123456 1"),
        COUNTER(SlidingWindowCounter.of(10, Duration.ofHours(1)), 2_400_000, "1757998800000000 0 1"),
        LOG(SlidingWindowLog.of(10, Duration.ofHours(1)), 3_600_000, "0 1758000000123456 1");

        final PolicyArguments policy;
        final long ttlMillis;
        final String stored;

        Kind(RateLimitPolicy policy, long ttlMillis, String stored) {
            this.policy = PolicyArguments.of(policy, NOW);
            this.ttlMillis = ttlMillis;
            this.stored = stored;
        }
    }

    private final StatefulRedisConnection<String, String> connection;
    private final RedisCommands<String, String> redis;
    private final String key = UUID.randomUUID().toString();

    StoredStateTest(Standalone server) {
        connection = server.connect();
        redis = connection.sync();
    }

    @AfterEach
    void close() {
        connection.close();
    }

    private Answer ask(long now, PolicyArguments policy, Ask ask) {
        String[] arguments = ScriptArguments.at(now, policy, List.of(ask));
        Object reply =
                redis.eval(policy.script().text(), ScriptOutputType.MULTI, ScriptCalls.keys(policy, key), arguments);
        return ScriptReply.parse(reply, ScriptCalls.takes(1), policy.partNames().size())
                .answers()
                .get(0);
    }

    private String keyOf(PolicyArguments policy) {
        return ScriptCalls.keys(policy, key)[0];
    }

    private String stored(String name) {
        return redis.type(name).equals("list") ? String.join(" ", redis.lrange(name, 0, -1)) : redis.get(name);
    }

    @ParameterizedTest
    @EnumSource
    void stateIsSmallAndLivesAsLongAsItMatters(Kind kind) {
        ask(NOW, kind.policy, Ask.take(1));

        assertThat(stored(keyOf(kind.policy))).isEqualTo(kind.stored);
        assertThat(redis.pttl(keyOf(kind.policy))).isBetween(kind.ttlMillis - 60_000, kind.ttlMillis + 1);
    }

    @ParameterizedTest
    @EnumSource
    void denialAndLookWriteNothing(Kind kind) {
        ask(NOW, kind.policy, Ask.charge(10));
        String before = stored(keyOf(kind.policy));
        redis.persist(keyOf(kind.policy));

        assertThat(ask(NOW + 1, kind.policy, Ask.take(1)).allowed()).isFalse();
        assertThat(ask(NOW + 1, kind.policy, Ask.look(1)).allowed()).isFalse();

        assertThat(stored(keyOf(kind.policy))).isEqualTo(before);
        assertThat(redis.pttl(keyOf(kind.policy))).isEqualTo(-1);
    }

    @ParameterizedTest
    @EnumSource
    void timeToLiveThatWasRemovedComesBackWithTheNextDebit(Kind kind) {
        ask(NOW, kind.policy, Ask.take(1));
        redis.persist(keyOf(kind.policy));

        assertThat(ask(NOW + 2 * HOUR, kind.policy, Ask.take(1)).allowed()).isTrue();

        assertThat(redis.pttl(keyOf(kind.policy))).isPositive();
    }

    @ParameterizedTest
    @EnumSource
    void resetDeletesTheKey(Kind kind) {
        ask(NOW, kind.policy, Ask.take(1));

        assertThat(ask(NOW, kind.policy, Ask.reset()).resetMicros()).isZero();

        assertThat(redis.exists(keyOf(kind.policy))).isZero();
    }

    @ParameterizedTest
    @EnumSource
    void keyOfWhichAllIsGivenBackIsGoneAtOnceOrSoon(Kind kind) {
        ask(NOW, kind.policy, Ask.take(1));

        assertThat(ask(NOW, kind.policy, Ask.giveBack(1, NOW)).resetMicros()).isZero();

        assertThat(redis.pttl(keyOf(kind.policy))).isIn(-2L, 0L, 1L);
    }

    @ParameterizedTest
    @EnumSource
    void timestampTenYearsAheadLocksOutNoLongerThanTheStateTakesToRecover(Kind kind) {
        ask(NOW + TEN_YEARS, kind.policy, Ask.charge(10));
        redis.persist(keyOf(kind.policy));

        Answer answer = ask(NOW, kind.policy, Ask.take(1));

        assertThat(answer.allowed()).isFalse();
        assertThat(answer.resetMicros()).isBetween(1L, 2 * HOUR);
        assertThat(redis.pttl(keyOf(kind.policy))).isPositive();
        assertThat(ask(NOW + answer.waitMicros(), kind.policy, Ask.take(1)).allowed())
                .isTrue();
    }

    static Stream<String> garbage() {
        return Stream.of(
                "abc",
                "",
                " ",
                "1 2 3 4",
                "0x10",
                "0x10 1 1",
                "1e3",
                "1e3 1 1",
                "nan",
                "inf 1",
                "1.5 1",
                "-",
                "1 -1 -1",
                "1 -5",
                "9007199254740992",
                "9007199254740993 1",
                "1 9007199254740992 1",
                "0 0 x",
                "1\n2",
                "١");
    }

    @ParameterizedTest
    @EnumSource
    void garbageIsAnErrorAndStays(Kind kind) {
        String name = keyOf(kind.policy);
        garbage().forEach(garbage -> {
            redis.psetex(name, 1_000_000, garbage);
            for (Ask ask : List.of(Ask.take(1), Ask.look(1), Ask.giveBack(1, NOW), Ask.charge(1), Ask.reset())) {
                assertThatThrownBy(() -> ask(NOW, kind.policy, ask))
                        .as("%s with '%s'", ask, garbage)
                        .isInstanceOf(RedisCommandExecutionException.class)
                        .hasMessageStartingWith("RATELIMITCORRUPT ")
                        .hasMessageNotContaining(key);
            }
            assertThat(redis.get(name)).isEqualTo(garbage);
            assertThat(redis.pttl(name)).isPositive();
        });
    }

    @ParameterizedTest
    @EnumSource
    void anotherTypeIsAnErrorAndStays(Kind kind) {
        String name = keyOf(kind.policy);
        redis.hset(name, "field", "value");

        assertThatThrownBy(() -> ask(NOW, kind.policy, Ask.take(1))).hasMessageStartingWith("RATELIMITCORRUPT ");

        assertThat(redis.hget(name, "field")).isEqualTo("value");
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "LOG")
    void listWhereAStringBelongsIsAnErrorAndStays(Kind kind) {
        redis.rpush(keyOf(kind.policy), "1", "2", "3");

        assertThatThrownBy(() -> ask(NOW, kind.policy, Ask.take(1))).hasMessageStartingWith("RATELIMITCORRUPT ");

        assertThat(redis.llen(keyOf(kind.policy))).isEqualTo(3);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"x", "0", "0 1", "0 1 2 3", "0 x 1", "0 1 x", "0 1 1e0", "0 1758000000123455 9007199254740992"})
    void listThatIsNoLogIsAnErrorAndStays(String elements) {
        String name = keyOf(Kind.LOG.policy);
        redis.rpush(name, elements.split(" "));

        assertThatThrownBy(() -> ask(NOW, Kind.LOG.policy, Ask.take(1))).hasMessageStartingWith("RATELIMITCORRUPT ");

        assertThat(stored(name)).isEqualTo(elements);
    }

    @Test
    void windowThatNeverEndsIsAnError() {
        redis.set(keyOf(Kind.WINDOW.policy), "0 1858000000123456 3");

        assertThatThrownBy(() -> ask(NOW, Kind.WINDOW.policy, Ask.take(1))).hasMessageStartingWith("RATELIMITCORRUPT ");
    }

    @Test
    void oneCorruptPartLeavesTheOthersUntouched() {
        PolicyArguments policy = PolicyArguments.of(
                Policies.all(TokenBucket.perSecond(5), SlidingWindowLog.of(5, Duration.ofHours(1))), NOW);
        String[] keys = ScriptCalls.keys(policy, key);
        redis.set(keys[1], "abc");

        assertThatThrownBy(() -> ask(NOW, policy, Ask.take(1))).hasMessageStartingWith("RATELIMITCORRUPT ");

        assertThat(redis.exists(keys[0])).isZero();
        assertThat(redis.get(keys[1])).isEqualTo("abc");
    }

    @Test
    void numbersUpToTheLastExactOneAreWrittenInFull() {
        long most = 1L << 52;
        PolicyArguments window =
                PolicyArguments.of(FixedWindow.of(most, Duration.ofDays(366)).fromFirstRequest(), NOW);
        assertThat(ask(NOW, window, Ask.take(most - 1)).remaining()).isEqualTo(1);
        assertThat(stored(keyOf(window))).isEqualTo("1758000000123456 1789622400123456 4503599627370495");
        assertThat(ask(NOW, window, Ask.take(1)).remaining()).isZero();
        assertThat(ask(NOW, window, Ask.giveBack(1, NOW)).remaining()).isEqualTo(1);

        RateLimitPolicy awkward = new TokenBucket(9_007_190_000L, 999_983, Duration.ofSeconds(1));
        PolicyArguments bucket = PolicyArguments.of(awkward, NOW);
        Ask all = Ask.take(awkward.capacity());
        assertThat(ask(NOW, bucket, all))
                .isEqualTo(JavaTwin.of(awkward, NOW).call(NOW, List.of(all)).get(0));
        assertThat(stored(keyOf(bucket))).matches("1758009007\\d{6} \\d{1,6}");
    }

    @Test
    void policyMadeStricterCountsAtMostItsOwnCapacity() {
        ask(NOW, PolicyArguments.of(FixedWindow.of(100, Duration.ofHours(1)), NOW), Ask.take(80));
        PolicyArguments stricter = PolicyArguments.of(FixedWindow.of(10, Duration.ofHours(1)), NOW);

        assertThat(ask(NOW, stricter, Ask.look(1)).remaining()).isZero();
        assertThat(ask(NOW, stricter, Ask.giveBack(10, NOW)).remaining()).isEqualTo(10);
    }

    @Test
    void bytesOfAKeyArePrinted() {
        for (Kind kind : Kind.values()) {
            ask(NOW, kind.policy, Ask.take(1));
            Long bytes = redis.memoryUsage(keyOf(kind.policy));
            System.out.printf("MEMORY USAGE %s: %d bytes, %d of them the key%n", kind, bytes, key.length() + 3);
            assertThat(bytes).isBetween(48L, 256L);
        }
        PolicyArguments log = PolicyArguments.of(SlidingWindowLog.of(1_000, Duration.ofHours(1)), NOW);
        for (int i = 0; i < 1_000; i++) {
            ask(NOW + i, log, Ask.take(1));
        }
        System.out.printf("MEMORY USAGE log of 1000 entries: %d bytes%n", redis.memoryUsage(keyOf(log)));
        assertThat(redis.memoryUsage(keyOf(log))).isLessThan(32_000);
    }
}
