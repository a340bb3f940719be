package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.redis.Command.Op;
import io.github.reactorratelimit.redis.JavaTwin.Answer;
import io.github.reactorratelimit.redis.TwinHistory.Call;
import io.github.reactorratelimit.testing.Seeds;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Java step against Lua twin at the same tick, on a real server. */
@Tag("slow")
@ExtendWith(RedisExtension.class)
class CommandTwinTest {

    private static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");
    private static final int WILD_HISTORIES = FULL ? 2_000 : 60;
    private static final int CALM_HISTORIES = FULL ? 40 : 2;
    private static final int IN_FLIGHT = 8;

    private final StatefulRedisConnection<String, String> connection;
    private final ScriptSteps script;
    private int steps;
    private int denied;
    private int backward;
    private int refunds;

    CommandTwinTest(Standalone redis) {
        connection = redis.connect();
        script = new ScriptSteps(connection);
    }

    @AfterEach
    void close() {
        connection.close();
    }

    private record Pending(long seed, TwinHistory history, CompletableFuture<List<List<CommandReply>>> replies) {}

    @ParameterizedTest
    @EnumSource
    void scriptAnswersAsTheJavaStepsDo(PolicyKind kind) throws Exception {
        run(kind, WILD_HISTORIES, TwinHistory::wild);
        assertThat(denied).isGreaterThan(steps / 10);
        assertThat(refunds).isGreaterThan(steps / 20);
        assertThat(backward).isGreaterThan(WILD_HISTORIES);
    }

    @ParameterizedTest
    @EnumSource(names = {"LARGE_LOG", "SLIDING_WINDOW_COUNTER", "COMPOSITE"})
    void scriptAnswersAsTheJavaStepsDoWhenStatesGrow(PolicyKind kind) throws Exception {
        run(kind, CALM_HISTORIES, TwinHistory::calm);
    }

    @Test
    void totalsOfALogWrapUnseen() throws Exception {
        SlidingWindowLog policy = SlidingWindowLog.of(10_000, Duration.ofSeconds(1));
        List<Command> commands = List.of(Command.acquire(3_333), Command.acquire(3_333), Command.peek(10_000));

        compare(send(0, TwinHistory.regular(policy, 1_000, 400_000, commands)));

        assertThat(steps).isEqualTo(3_000);
        assertThat(denied).isBetween(1_000, 2_500);
    }

    private void run(PolicyKind kind, int histories, BiFunction<PolicyKind, Long, TwinHistory> history)
            throws Exception {
        long seed = Seeds.of("twins of " + kind);
        Deque<Pending> pending = new ArrayDeque<>();
        for (long i = 0; i < histories; i++) {
            pending.add(send(seed + i, history.apply(kind, seed + i)));
            if (pending.size() == IN_FLIGHT) {
                compare(pending.remove());
            }
        }
        while (!pending.isEmpty()) {
            compare(pending.remove());
        }
        System.out.printf(
                "twins of %s: %d steps, %.1f %% denied, %d refunds, %d times backward%n",
                kind, steps, 100.0 * denied / steps, refunds, backward);
    }

    private Pending send(long seed, TwinHistory history) {
        List<ScriptSteps.Step> steps = history.calls().stream()
                .map(call -> new ScriptSteps.Step(call.now(), call.commands()))
                .toList();
        return new Pending(
                seed, history, script.callAll(history.script(), history.clock(), "{twin-" + seed + "}", steps));
    }

    private void compare(Pending pending) throws Exception {
        List<List<CommandReply>> replies = pending.replies.get();
        List<Call> expected = pending.history.calls();
        assertThat(replies).hasSameSizeAs(expected);
        long before = Long.MIN_VALUE;
        for (int i = 0; i < replies.size(); i++) {
            Call call = expected.get(i);
            List<Answer> answers = replies.get(i).stream().map(Answer::of).toList();
            if (!answers.equals(call.expected())) {
                throw new AssertionError("history seed %d, %s, after %s: %s was answered %s"
                        .formatted(
                                pending.seed,
                                pending.history.policy(),
                                expected.subList(Math.max(0, i - 5), i),
                                call,
                                answers));
            }
            backward += call.now() < before ? 1 : 0;
            before = call.now();
            tally(call);
        }
    }

    private void tally(Call call) {
        steps += call.commands().size();
        denied += (int)
                call.expected().stream().filter(answer -> !answer.allowed()).count();
        refunds += (int) call.commands().stream()
                .filter(command -> command.op() == Op.REFUND)
                .count();
    }
}
