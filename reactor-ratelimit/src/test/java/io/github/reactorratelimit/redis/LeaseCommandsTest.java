package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.redis.LeaseAsk.Answer;
import io.github.reactorratelimit.redis.LeaseAsk.Op;
import io.github.reactorratelimit.testing.Seeds;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.Range;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The leases of a concurrency limit, at times the test gives. */
@ExtendWith(RedisExtension.class)
class LeaseCommandsTest {

    private static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");
    private static final int HISTORIES = FULL ? 500 : 50;
    private static final int CALLS = 300;

    private static final long NOW = 1_758_000_000_000_000L;
    private static final long LEASE = 30_000_000;
    private static final ServerClock CLOCK = ScriptSteps.clockAt(NOW);

    private final StatefulRedisConnection<String, String> connection;
    private final RedisCommands<String, String> redis;
    private final String key = UUID.randomUUID().toString();

    LeaseCommandsTest(Standalone server) {
        connection = server.connect();
        redis = connection.sync();
    }

    @AfterEach
    void close() {
        connection.close();
    }

    private static String lease(String id, long permits) {
        return id + " " + permits + " " + LEASE;
    }

    private static LeaseAsk ask(Op op, String argument) {
        return new LeaseAsk(op, argument);
    }

    private List<CommandReply> replies(long now, long max, LeaseAsk... asks) {
        ScriptPolicy policy = policy(max);
        List<Command> commands = Arrays.stream(asks).map(LeaseAsk::command).toList();
        List<Object> reply = redis.eval(
                RedisScript.ofCommands().text(),
                ScriptOutputType.MULTI,
                new String[] {key},
                Long.toString(now),
                "1",
                policy.text(CLOCK),
                ScriptSteps.entry(commands, false));
        assertThat(reply.get(0)).isEqualTo(now);
        return ScriptSteps.parse(policy, commands, reply);
    }

    private static ScriptPolicy policy(long max) {
        return ScriptPolicy.of(ConcurrencyLimit.of(max));
    }

    private List<Answer> call(long now, long max, LeaseAsk... asks) {
        return replies(now, max, asks).stream().map(Answer::of).toList();
    }

    private Answer call(long now, Op op, String argument) {
        return call(now, 5, ask(op, argument)).get(0);
    }

    private record Step(List<LeaseAsk> asks, List<Answer> expected, ScriptSteps.Step call) {}

    @Test
    void scriptAnswersAsTheModelDoes() throws Exception {
        long seed = Seeds.of("leases against their model");
        ScriptSteps script = new ScriptSteps(connection);
        int asked = 0;
        int denied = 0;
        int renewed = 0;
        for (long history = seed; history < seed + HISTORIES; history++) {
            SplittableRandom random = new SplittableRandom(history);
            long max = 1 + random.nextInt(40);
            List<Step> steps = steps(random, max);
            List<List<CommandReply>> replies = script.callAll(
                            policy(max),
                            CLOCK,
                            key + history,
                            steps.stream().map(Step::call).toList())
                    .get();
            for (int i = 0; i < replies.size(); i++) {
                Step step = steps.get(i);
                List<LeaseAsk> asks = step.asks();
                assertThat(replies.get(i).stream().map(Answer::of).toList())
                        .as("history seed %d, call %d: %s", history, i, asks)
                        .isEqualTo(step.expected());
                asked += asks.size();
                denied += count(step, Op.TAKE, false) + count(step, Op.TAKE_FOR_WAITER, false);
                renewed += count(step, Op.RENEW, true);
            }
        }
        System.out.printf("leases: %d steps, %d takes denied, %d renewed%n", asked, denied, renewed);
        assertThat(asked).isGreaterThanOrEqualTo(20_000);
        assertThat(denied).isGreaterThan(asked / 20);
        assertThat(renewed).isGreaterThan(asked / 50);
    }

    private static int count(Step step, Op op, boolean done) {
        return (int) IntStream.range(0, step.asks().size())
                .filter(i ->
                        step.asks().get(i).op() == op && step.expected().get(i).done() == done)
                .count();
    }

    private static List<Step> steps(SplittableRandom random, long max) {
        LeaseModel model = new LeaseModel(max);
        List<String> ids = new ArrayList<>();
        List<Step> steps = new ArrayList<>();
        long now = NOW;
        for (int i = 0; i < CALLS; i++) {
            now = next(random, now);
            List<LeaseAsk> asks = randomAsks(random, max, ids);
            var call = new ScriptSteps.Step(
                    now, asks.stream().map(LeaseAsk::command).toList());
            steps.add(new Step(asks, model.call(now, asks), call));
        }
        return steps;
    }

    private static long next(SplittableRandom random, long now) {
        return switch (random.nextInt(20)) {
            case 0 -> now + random.nextLong(2 * LEASE);
            case 1 -> now - random.nextLong(2 * LEASE);
            case 2, 3, 4, 5 -> now;
            default -> now + random.nextLong(LEASE / 20);
        };
    }

    private static List<LeaseAsk> randomAsks(SplittableRandom random, long max, List<String> ids) {
        List<LeaseAsk> asks = new ArrayList<>();
        int size = random.nextInt(5) == 0 ? 1 + random.nextInt(30) : 1 + random.nextInt(2);
        for (int i = 0; i < size; i++) {
            asks.add(randomAsk(random, max, ids));
        }
        return asks;
    }

    private static LeaseAsk randomAsk(SplittableRandom random, long max, List<String> ids) {
        int choice = random.nextInt(200);
        if (choice == 0) {
            return LeaseAsk.reset();
        }
        if (choice < 20) {
            return LeaseAsk.look(1 + random.nextLong(max));
        }
        if (ids.isEmpty() || choice < 110) {
            long permits = 1 + random.nextLong(random.nextInt(10) == 0 ? max : Math.min(3, max));
            long lasts = random.nextInt(5) == 0 ? LEASE / 30 : LEASE;
            ids.add("h." + ids.size() + " " + permits + " " + lasts);
            return ask(random.nextBoolean() ? Op.TAKE : Op.TAKE_FOR_WAITER, ids.get(ids.size() - 1));
        }
        String recent = ids.get(ids.size() - 1 - random.nextInt(Math.min(ids.size(), 60)));
        return ask(choice < 150 ? Op.GIVE_BACK : choice < 195 ? Op.RENEW : Op.TAKE, recent);
    }

    @Test
    void leaseOfADeadHolderEndsAndNotBefore() {
        assertThat(call(NOW, Op.TAKE, lease("a", 5))).isEqualTo(new Answer(true, 0));
        assertThat(call(NOW + LEASE - 1, Op.TAKE, lease("b", 1))).isEqualTo(new Answer(false, 0));
        assertThat(call(NOW + LEASE, Op.LOOK, "5")).isEqualTo(new Answer(true, 5));
        assertThat(call(NOW + LEASE, Op.TAKE, lease("b", 2))).isEqualTo(new Answer(true, 3));
        assertThat(call(NOW + LEASE, Op.GIVE_BACK, lease("a", 5))).isEqualTo(new Answer(false, 3));
        assertThat(redis.zrange(key, 0, -1)).containsExactly("used", lease("b", 2));
    }

    @Test
    void renewedLeaseLastsFromTheRenewal() {
        call(NOW, Op.TAKE, lease("a", 5));
        assertThat(call(NOW + LEASE - 1, Op.RENEW, lease("a", 5)).done()).isTrue();
        assertThat(call(NOW + 2 * LEASE - 2, Op.LOOK, "1").done()).isFalse();
        assertThat(call(NOW + 2 * LEASE - 1, Op.RENEW, lease("a", 5)).done()).isFalse();
        assertThat(call(NOW + 2 * LEASE - 1, Op.LOOK, "5").done()).isTrue();
    }

    @Test
    void takeThatIsSentTwiceTakesOnce() {
        call(NOW, Op.TAKE, lease("a", 2));
        assertThat(call(NOW + 1, Op.TAKE, lease("a", 2))).isEqualTo(new Answer(true, 3));
    }

    @Test
    void clockThatWentBackLocksOutNoLongerThanALease() {
        long year = 365L * 86_400 * 1_000_000;
        for (int i = 0; i < 5; i++) {
            call(NOW + year, Op.TAKE, lease("a" + i, 1));
        }
        assertThat(call(NOW, Op.TAKE, lease("b", 1)).done()).isFalse();
        assertThat(call(NOW + LEASE - 1, Op.TAKE, lease("b", 1)).done()).isFalse();
        assertThat(call(NOW + LEASE, Op.TAKE, lease("b", 5))).isEqualTo(new Answer(true, 0));
        assertThat(redis.pttl(key)).isBetween(25_000L, 31_001L);
    }

    /** More than one call removes. */
    @Test
    void manyEndedLeasesCountAtOnceAndAreRemovedBitByBit() {
        for (int batch = 0; batch < 10; batch++) {
            int from = batch * 200;
            call(
                    NOW,
                    2_000,
                    IntStream.range(from, from + 200)
                            .mapToObj(i -> ask(Op.TAKE, lease("a." + i, 1)))
                            .toArray(LeaseAsk[]::new));
        }
        assertThat(redis.zcard(key)).isEqualTo(2_001);
        long after = NOW + LEASE;
        assertThat(call(after - 1, 2_000, ask(Op.TAKE, lease("b", 1)))).containsExactly(new Answer(false, 0));
        assertThat(call(after, 2_000, ask(Op.TAKE, lease("b", 1)))).containsExactly(new Answer(true, 1_999));
        assertThat(redis.zcard(key)).isEqualTo(1_502);
        assertThat(call(after, 2_000, ask(Op.RENEW, lease("a.1999", 1)))).containsExactly(new Answer(false, 1_999));
        assertThat(call(after, 2_000, ask(Op.TAKE, lease("c", 1_999)))).containsExactly(new Answer(true, 0));
        for (int i = 0; i < 3; i++) {
            call(after, 2_000, ask(Op.TAKE, lease("d", 1)));
        }
        assertThat(redis.zrange(key, 0, -1)).containsExactlyInAnyOrder("used", lease("b", 1), lease("c", 1_999));
        assertThat(redis.zscore(key, "used")).isEqualTo(-2_000);
    }

    @Test
    void keyLivesAsLongAsItsLastLeaseAndGoesWithIt() {
        call(NOW, Op.TAKE, lease("a", 1));
        assertThat(redis.pttl(key)).isBetween(25_000L, 31_001L);
        call(NOW, Op.TAKE, "b 1 1000");
        assertThat(redis.pttl(key)).isBetween(25_000L, 31_001L);
        call(NOW, Op.GIVE_BACK, lease("a", 1));
        assertThat(call(NOW, Op.GIVE_BACK, "b 1 1000")).isEqualTo(new Answer(true, 5));
        assertThat(redis.exists(key)).isZero();
    }

    @Test
    void denialAndLookWriteNothing() {
        call(NOW, Op.TAKE, lease("a", 5));
        redis.persist(key);
        call(NOW, Op.TAKE, lease("b", 1));
        call(NOW, Op.LOOK, "1");
        call(NOW + LEASE, Op.LOOK, "1");
        assertThat(redis.zrange(key, 0, -1)).containsExactly("used", lease("a", 5));
        assertThat(redis.pttl(key)).isEqualTo(-1);
    }

    @Test
    void numbersUpToTheLastExactOneAreKept() {
        long most = 1L << 52;
        assertThat(call(NOW, most, ask(Op.TAKE, lease("a", most - 1)), ask(Op.TAKE, lease("b", 1))))
                .containsExactly(new Answer(true, 1), new Answer(true, 0));
        assertThat(call(NOW, most, ask(Op.GIVE_BACK, lease("b", 1)))).containsExactly(new Answer(true, 1));
        assertThat(redis.zrangebyscore(key, Range.create(-(double) (most - 1), -(double) (most - 1))))
                .containsExactly("used");
    }

    @Test
    void releaseThatAWaiterHasToHearOfSaysSoOnce() {
        assertThat(tells(NOW, ask(Op.TAKE, lease("a", 2)), ask(Op.TAKE, lease("b", 3))))
                .isFalse();
        assertThat(tells(NOW, ask(Op.TAKE, lease("c", 1)))).isFalse();
        assertThat(tells(NOW, ask(Op.GIVE_BACK, lease("a", 1)))).isFalse();
        assertThat(tells(NOW, ask(Op.TAKE_FOR_WAITER, lease("c", 1)))).isFalse();
        assertThat(tells(NOW + 1_000_000, ask(Op.RENEW, lease("a", 2)), ask(Op.GIVE_BACK, lease("b", 3))))
                .as("the mark is over")
                .isFalse();
        assertThat(tells(NOW + 1_000_000, ask(Op.TAKE_FOR_WAITER, lease("c", 4))))
                .isFalse();
        assertThat(tells(NOW + 1_999_999, ask(Op.GIVE_BACK, lease("a", 2)), ask(Op.TAKE, lease("d", 1))))
                .isTrue();
        assertThat(tells(NOW + 1_999_999, ask(Op.GIVE_BACK, lease("d", 1)))).isFalse();
    }

    private boolean tells(long now, LeaseAsk... asks) {
        return replies(now, 5, asks).get(0).key().waiterExists();
    }

    @Test
    void anotherTypeIsAnErrorAndStays() {
        redis.set(key, "abc");
        for (Op op : Op.values()) {
            assertThatThrownBy(() -> call(NOW, op, op == Op.LOOK ? "1" : lease("a", 1)))
                    .hasMessageContaining("RATELIMITCORRUPT ")
                    .hasMessageNotContaining(key);
        }
        assertThat(redis.get(key)).isEqualTo("abc");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "100;abc",
                "-1;used",
                "1;used",
                "-1.5;used 100;a_1_30000000",
                "-inf;used 100;a_1_30000000",
                "-1;used 100;a",
                "-1;used 100;a_1",
                "-1;used 100;a_x_30000000",
                "-1;used 100;a_0x1_30000000",
                "-1;used 100;a_0_30000000",
                "-1;used 100;a_1_0",
                "-1;used 100;a_-1_30000000",
                "-1;used 100;a_9007199254740993_30000000",
                "-1;used 100;a_1_9007199254740991",
                "-1;used 100;a_2_30000000",
                "-1;used 100;a_1_30000000 101;b_1_30000000",
                "-2;used 100;a_1_30000000",
                "-1;used +inf;a_1_30000000",
                "-1;used 1.5;a_1_30000000 1758000000000001;b_1_30000000",
                "-1;used 1758000000000001;a_1_30000000 1758000000000002;b_1_30000000",
                "-1;used 1758000000000001;abc"
            })
    void garbageIsAnErrorAndStays(String members) {
        Arrays.stream(members.split(" "))
                .map(member -> member.split(";"))
                .forEach(member -> redis.zadd(
                        key, Double.parseDouble(member[0].replace("inf", "Infinity")), member[1].replace('_', ' ')));
        var before = redis.zrangeWithScores(key, 0, -1);
        for (Op op : Op.values()) {
            assertThatThrownBy(() -> call(NOW, op, op == Op.LOOK ? "1" : lease("new", 1)))
                    .as(op.name())
                    .hasMessageContaining("RATELIMITCORRUPT ")
                    .hasMessageNotContaining(key);
        }
        assertThat(redis.zrangeWithScores(key, 0, -1)).isEqualTo(before);
    }
}
