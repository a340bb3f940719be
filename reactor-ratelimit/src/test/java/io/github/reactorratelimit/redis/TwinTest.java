package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.redis.Ask.Op;
import io.github.reactorratelimit.redis.TwinHistory.Call;
import io.github.reactorratelimit.redis.server.RedisExtension;
import io.github.reactorratelimit.redis.server.Standalone;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.api.StatefulRedisConnection;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Java step against Lua twin at the same tick, on a real server. */
@ExtendWith(RedisExtension.class)
class TwinTest {

    private static final int HISTORIES = Boolean.getBoolean("ratelimit.tests.full") ? 2_000 : 60;
    private static final int IN_FLIGHT = 8;

    private final StatefulRedisConnection<String, String> connection;
    private final ScriptCalls calls;
    private int steps;
    private int denied;
    private int backward;
    private int refunds;

    TwinTest(Standalone redis) {
        connection = redis.connect();
        calls = new ScriptCalls(connection);
    }

    @AfterEach
    void close() {
        connection.close();
    }

    private record Pending(long seed, TwinHistory history, RedisFuture<List<Object>> replies) {}

    @ParameterizedTest
    @EnumSource
    void scriptAnswersAsTheJavaStepsDo(PolicyKind kind) throws Exception {
        long seed = Long.getLong("ratelimit.seed", System.nanoTime());
        System.out.println("twins of " + kind + ": -Dratelimit.seed=" + seed);
        Deque<Pending> pending = new ArrayDeque<>();
        for (long i = 0; i < HISTORIES; i++) {
            pending.add(send(kind, seed + i));
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
        assertThat(denied).isGreaterThan(steps / 10);
        assertThat(refunds).isGreaterThan(steps / 20);
        assertThat(backward).isGreaterThan(HISTORIES);
    }

    private Pending send(PolicyKind kind, long seed) {
        TwinHistory history = new TwinHistory(kind, seed);
        PolicyArguments policy = history.arguments();
        List<String[]> arguments = history.calls().stream()
                .map(call -> ScriptArguments.at(call.now(), policy, call.asks()))
                .toList();
        String[] keys = ScriptCalls.keys(policy, "twin-" + kind + "-" + seed);
        return new Pending(seed, history, calls.callAll(policy.script(), keys, arguments));
    }

    private void compare(Pending pending) throws Exception {
        List<Object> replies = pending.replies.get();
        List<Call> expected = pending.history.calls();
        assertThat(replies).hasSameSizeAs(expected);
        long before = Long.MIN_VALUE;
        for (int i = 0; i < replies.size(); i++) {
            Call call = expected.get(i);
            int parts = pending.history.arguments().partNames().size();
            ScriptReply reply = ScriptReply.parse(replies.get(i), call.asks().size(), parts);
            if (reply.nowMicros() != call.now() || !reply.answers().equals(call.expected())) {
                throw new AssertionError("history seed %d, %s, after %s: %s was answered %s"
                        .formatted(
                                pending.seed,
                                pending.history.policy(),
                                expected.subList(Math.max(0, i - 5), i),
                                call,
                                reply));
            }
            backward += call.now() < before ? 1 : 0;
            before = call.now();
            tally(call);
        }
    }

    private void tally(Call call) {
        steps += call.asks().size();
        denied += (int)
                call.expected().stream().filter(answer -> !answer.allowed()).count();
        refunds += (int)
                call.asks().stream().filter(ask -> ask.op() == Op.GIVE_BACK).count();
    }
}
