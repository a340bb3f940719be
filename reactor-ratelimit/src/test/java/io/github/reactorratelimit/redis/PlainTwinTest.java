package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.redis.JavaTwin.Answer;
import io.github.reactorratelimit.testing.Seeds;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Acquires of many keys that the beginning of the script decides, against the rest of the script and against each key alone. */
@Tag("slow")
@ExtendWith(RedisExtension.class)
class PlainTwinTest {

    private static final int HISTORIES = Boolean.getBoolean("ratelimit.tests.full") ? 400 : 15;
    private static final int CALLS = 40;
    private static final int KEYS = 6;
    private static final long START = 1_758_000_000_123_456L;

    private final StatefulRedisConnection<String, String> connection;
    private int decided;
    private int denied;
    private int notPlain;

    PlainTwinTest(Standalone redis) {
        connection = redis.connect();
    }

    @AfterEach
    void close() {
        connection.close();
    }

    private record Run(int key, long permits, int count) {

        List<Command> commands() {
            return Collections.nCopies(count, Command.acquire(permits));
        }
    }

    /** So slow that nothing expires while the test runs, at times that have nothing to do with the server's. */
    private static RateLimitPolicy policy(SplittableRandom random) {
        boolean fast = random.nextBoolean();
        Duration period = Duration.ofHours(24).plusNanos(1_000 * random.nextLong(1_000_000_000L));
        long permits = 1 + random.nextLong(fast ? 50_000 : 40);
        long burst = fast ? 1 + permits + random.nextLong(permits) : 1 + random.nextLong(50);
        return random.nextBoolean() ? new Gcra(permits, period, burst) : new TokenBucket(burst, permits, period);
    }

    @Test
    void plainKeysAreDecidedAndStoredAsAllOthers() {
        long seed = Seeds.of("plain");
        for (long i = 0; i < HISTORIES; i++) {
            history(seed + i);
        }
        assertThat(notPlain).as("clock was set back").isPositive();
        assertThat(denied).isGreaterThan(decided / 10);
        assertThat(decided - denied).isGreaterThan(decided / 10);
    }

    private void history(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        RateLimitPolicy policy = policy(random);
        ServerClock clock = ScriptSteps.clockAt(START);
        ScriptPolicy script = ScriptPolicy.of(policy);
        long now = START;
        for (int call = 0; call < CALLS; call++) {
            now += later(random);
            List<Run> runs = new ArrayList<>();
            boolean alike = random.nextInt(3) == 0;
            long permits = 1 + random.nextLong(Math.min(policy.capacity(), 4));
            for (int key = 0; key < KEYS; key++) {
                if (random.nextInt(3) > 0) {
                    long own = 1 + random.nextLong(Math.min(policy.capacity(), Math.max(4, policy.capacity() / 20)));
                    runs.add(new Run(key, alike ? permits : own, alike ? 2 : 1 + random.nextInt(6)));
                }
            }
            if (!runs.isEmpty()) {
                compare("seed " + seed + ", " + policy + ", " + runs, seed, script, clock, now, runs);
            }
        }
    }

    /** Servers' clocks are set back at times. */
    private static long later(SplittableRandom random) {
        return switch (random.nextInt(8)) {
            case 0, 1 -> random.nextLong(200_000_000_000L);
            case 2 -> -random.nextLong(3);
            case 3 -> random.nextInt(4) == 0 ? -random.nextLong(100_000_000_000L) : 0;
            default -> random.nextLong(3);
        };
    }

    private void compare(String what, long seed, ScriptPolicy policy, ServerClock clock, long now, List<Run> runs) {
        List<Object> together = call(seed, "plain", policy, clock, now, runs, "");
        assertThat(together).as(what).hasSize(1 + 2 * runs.size());
        for (int i = 0; i < runs.size(); i++) {
            Run run = runs.get(i);
            List<Object> own = new ArrayList<>(List.of(together.get(0)));
            own.addAll(together.subList(1 + 2 * i, 3 + 2 * i));
            notPlain += own.get(1) instanceof Long ? 0 : 1;
            List<Answer> answers = ScriptSteps.parse(policy, run.commands(), own).stream()
                    .map(Answer::of)
                    .toList();
            List<Command> withPeek = new ArrayList<>(run.commands());
            withPeek.add(Command.peek(1));
            List<Object> alone = call(seed, "whole", policy, clock, now, List.of(run), " l 1 -");
            List<Answer> expected = ScriptSteps.parse(policy, withPeek, alone).stream()
                    .map(Answer::of)
                    .toList();
            assertThat(answers).as(what).isEqualTo(expected.subList(0, run.count()));
            decided += run.count();
            denied += (int) answers.stream().filter(answer -> !answer.allowed()).count();
        }
        for (int key = 0; key < KEYS; key++) {
            assertThat(connection.sync().get(name(seed, "plain", key)))
                    .as(what)
                    .isEqualTo(connection.sync().get(name(seed, "whole", key)));
        }
    }

    private List<Object> call(
            long seed, String kind, ScriptPolicy policy, ServerClock clock, long now, List<Run> runs, String more) {
        List<String> entries = new ArrayList<>();
        for (Run run : runs) {
            StringBuilder entry = new StringBuilder("1");
            run.commands().get(0).appendTo(entry, run.count());
            entries.add(entry + more);
        }
        List<String> arguments = new ArrayList<>(List.of(Long.toString(now), "1", policy.text(clock)));
        boolean isShared = entries.stream().distinct().count() == 1;
        arguments.addAll(isShared ? entries.subList(0, 1) : entries);
        return connection
                .sync()
                .eval(
                        RedisScript.ofCommands().text(),
                        ScriptOutputType.MULTI,
                        runs.stream().map(run -> name(seed, kind, run.key())).toArray(String[]::new),
                        arguments.toArray(String[]::new));
    }

    private static String name(long seed, String kind, int key) {
        return "{plain" + seed + "}" + kind + key;
    }
}
