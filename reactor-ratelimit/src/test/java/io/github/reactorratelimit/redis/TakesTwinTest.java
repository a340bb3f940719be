package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Seeds;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** The short script for many keys against the whole script for one, at the same times: what they decide and what they store. */
@ExtendWith(RedisExtension.class)
class TakesTwinTest {

    private static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");
    private static final int HISTORIES = FULL ? 400 : 20;
    private static final int CALLS = 40;
    private static final int KEYS = 5;
    private static final long UNDECIDED = -1;
    private static final long START = 1_758_000_000_123_456L;

    private final StatefulRedisConnection<String, String> connection;
    private int denied;
    private int decided;
    private int undecided;

    TakesTwinTest(Standalone redis) {
        connection = redis.connect();
    }

    @AfterEach
    void close() {
        connection.close();
    }

    /** So slow that nothing expires while the test runs, at times that have nothing to do with the server's. */
    private static RateLimitPolicy policy(SplittableRandom random) {
        boolean fast = random.nextBoolean();
        Duration period = Duration.ofHours(24).plusNanos(1_000 * random.nextLong(1_000_000_000L));
        long permits = 1 + random.nextLong(fast ? 50_000 : 40);
        long burst = fast ? 1 + permits + random.nextLong(permits) : 1 + random.nextLong(50);
        return random.nextBoolean() ? new Gcra(permits, period, burst) : new TokenBucket(burst, permits, period);
    }

    private record Run(int key, long permits, int count) {}

    @Test
    void shortScriptDecidesAndStoresAsTheWholeOneDoes() {
        long seed = Seeds.of("takes");
        for (long i = 0; i < HISTORIES; i++) {
            history(seed + i);
        }
        assertThat(undecided).as("clock was set back").isPositive();
        assertThat(denied).isGreaterThan(decided / 10);
        assertThat(decided - denied).isGreaterThan(decided / 10);
    }

    private void history(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        RateLimitPolicy policy = policy(random);
        TakeTerms terms = Objects.requireNonNull(TakeTerms.of(policy));
        long now = START;
        for (int call = 0; call < CALLS; call++) {
            now += later(random);
            List<Run> runs = new ArrayList<>();
            int most = random.nextInt(25) == 0 ? TakePipe.MAX_RUNS : 2 * KEYS;
            for (int i = random.nextInt(most); i >= 0; i--) {
                boolean many = random.nextInt(40) == 0;
                long dearest = many ? 4 : Math.max(4, policy.capacity() / 20);
                long permits = 1 + random.nextLong(Math.min(policy.capacity(), dearest));
                runs.add(new Run(
                        random.nextInt(KEYS), permits, 1 + random.nextInt(many ? ScriptArguments.MAX_ASKS : 6)));
            }
            compare("seed " + seed + ", " + policy + ", " + runs, seed, terms, now, runs);
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

    private void compare(String what, long seed, TakeTerms terms, long now, List<Run> runs) {
        List<Long> reply = takes(seed, terms, now, runs);
        assertThat(reply).as(what).hasSize(1 + 2 * runs.size()).first().isEqualTo(now);
        for (int i = 0; i < runs.size(); i++) {
            Run run = runs.get(i);
            if (reply.get(1 + 2 * i) == UNDECIDED) {
                assertThat(isTooFarAhead(terms, now, run.key(), seed)).as(what).isTrue();
                undecided++;
                continue;
            }
            List<Decision> expected = whole(seed, terms, now, run);
            assertThat(answers(terms, run, reply.get(1 + 2 * i), reply.get(2 + 2 * i)))
                    .as(what)
                    .isEqualTo(expected.stream().map(Decision::toString).toList());
            decided += run.count();
            denied += (int) expected.stream().filter(d -> !d.allowed()).count();
        }
        for (int key = 0; key < KEYS; key++) {
            assertThat(connection.sync().get(name("short", seed, key)))
                    .as(what)
                    .isEqualTo(connection.sync().get(name("whole", seed, key)));
        }
    }

    @Test
    void whatIsSpecialAboutAKeyIsFoundAmongOthersAndTouchesThemNot() {
        TakeTerms terms = Objects.requireNonNull(TakeTerms.of(new Gcra(10, Duration.ofHours(24), 10)));
        List<Run> all = List.of(new Run(0, 1, 1), new Run(1, 1, 1), new Run(2, 1, 1));
        long seed = Seeds.of("special");
        for (boolean othersAreNew : List.of(true, false)) {
            for (String special :
                    List.of("notes", "notes list", "list", "text", "notes without a state", "key alone")) {
                all.forEach(
                        run -> connection.sync().del(name("short", seed, run.key()), name("notes", seed, run.key())));
                List<Run> runs = special.equals("key alone") ? all.subList(1, 2) : all;
                if (!othersAreNew) {
                    takes(seed, terms, START, all);
                }
                makeSpecial(special, name("short", seed, 1), name("notes", seed, 1));
                List<Long> reply = takes(seed, terms, START, runs);
                for (Run run : runs) {
                    assertThat(reply.get(1 + 2 * runs.indexOf(run)))
                            .as(special + ", key " + run.key())
                            .isEqualTo(run.key() == 1 ? UNDECIDED : 1L);
                }
            }
        }
    }

    private void makeSpecial(String special, String state, String notes) {
        switch (special) {
            case "notes" -> connection.sync().set(notes, "0 0 0 0 1");
            case "notes list" -> connection.sync().rpush(notes, "1");
            case "list" -> {
                connection.sync().del(state);
                connection.sync().rpush(state, "1");
            }
            case "text" -> connection.sync().set(state, "0x10");
            default -> {
                connection.sync().del(state);
                connection.sync().set(notes, "0 0 0 0 1");
            }
        }
    }

    /** Further ahead than the policy can have caused: the clock was set back. */
    private boolean isTooFarAhead(TakeTerms terms, long now, int key, long seed) {
        String[] stored = connection.sync().get(name("short", seed, key)).split(" ");
        long parts = stored.length == 1 ? 0 : Long.parseLong(stored[1]);
        return (Long.parseLong(stored[0]) - now) * (double) terms.partsPerTick() > terms.mostParts() - parts;
    }

    private static List<String> answers(TakeTerms terms, Run run, long allowed, long owedAfterAll) {
        long cost = terms.cost(run.permits());
        List<String> answers = new ArrayList<>();
        for (long i = 1; i <= run.count(); i++) {
            Decision decision = i <= allowed
                    ? terms.allow("owner", "k", run.permits(), owedAfterAll - (allowed - i) * cost, 0)
                    : terms.deny(run.permits(), owedAfterAll);
            answers.add(decision.toString());
        }
        return answers;
    }

    private List<Long> takes(long seed, TakeTerms terms, long now, List<Run> runs) {
        List<String> keys = new ArrayList<>();
        List<String> arguments = new ArrayList<>();
        arguments.add(Long.toString(now));
        arguments.add(Long.toString(terms.partsPerTick()));
        arguments.add(Long.toString(terms.mostParts()));
        runs.forEach(run -> keys.add(name("short", seed, run.key())));
        runs.forEach(run -> keys.add(name("notes", seed, run.key())));
        boolean alike = runs.stream()
                        .map(run -> new Run(0, run.permits(), run.count()))
                        .distinct()
                        .count()
                == 1;
        for (Run run : alike ? runs.subList(0, 1) : runs) {
            arguments.add(Long.toString(terms.cost(run.permits())));
            arguments.add(Integer.toString(run.count()));
        }
        return connection
                .sync()
                .eval(
                        RedisScript.takes().text(),
                        ScriptOutputType.MULTI,
                        keys.toArray(String[]::new),
                        arguments.toArray(String[]::new));
    }

    private List<Decision> whole(long seed, TakeTerms terms, long now, Run run) {
        PolicyArguments policy = PolicyArguments.of(terms.policy(), START);
        List<Ask> asks = Collections.nCopies(run.count(), Ask.take(run.permits()));
        String[] keys = {name("whole", seed, run.key())};
        List<Object> reply = connection
                .sync()
                .eval(policy.script().text(), ScriptOutputType.MULTI, keys, ScriptArguments.at(now, policy, asks));
        ScriptReply parsed = ScriptReply.parse(reply, asks, 1);
        return parsed.answers().stream()
                .map(answer ->
                        RedisCalls.decision("owner", "k", asks.get(0), new Answered(answer, parsed.key(), policy)))
                .toList();
    }

    private static String name(String kind, long seed, int key) {
        return "{takes" + seed + "}" + kind + key;
    }
}
