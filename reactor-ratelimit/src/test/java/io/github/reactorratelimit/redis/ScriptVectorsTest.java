package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.CompositePolicy;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.GoldenVectors;
import io.github.reactorratelimit.algorithm.GoldenVectors.Row;
import io.github.reactorratelimit.algorithm.GoldenVectors.Section;
import io.github.reactorratelimit.redis.ScriptCalls.Call;
import io.github.reactorratelimit.redis.ScriptReply.Answer;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.api.StatefulRedisConnection;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The vectors that drive the Java steps, run by their Lua twins. */
@ExtendWith(RedisExtension.class)
class ScriptVectorsTest {

    private final StatefulRedisConnection<String, String> connection;
    private final ScriptCalls calls;

    ScriptVectorsTest(Standalone redis) {
        connection = redis.connect();
        calls = new ScriptCalls(connection);
    }

    @AfterEach
    void close() {
        connection.close();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "token_bucket",
                "gcra",
                "stepwise_bucket",
                "leaky_bucket",
                "fixed_window",
                "sliding_log",
                "sliding_counter",
                "composite",
                "backward"
            })
    void scriptGivesTheGoldenAnswers(String file) throws Exception {
        List<Section> sections = GoldenVectors.sections(file);
        assertThat(sections).isNotEmpty();
        for (Section section : sections) {
            run(section);
        }
    }

    /** After each step every part is looked at, because a vector tells what remains of all parts together. */
    private void run(Section section) throws Exception {
        PolicyArguments whole = PolicyArguments.of(section.policy(), GoldenVectors.START);
        List<PolicyArguments> parts = parts(section.policy());
        List<Call> steps = new ArrayList<>();
        for (Row row : section.rows()) {
            Ask ask = row.isRefund() ? Ask.giveBack(row.permits(), row.debitedAt()) : Ask.take(row.permits());
            steps.add(new Call(0, ScriptArguments.at(row.now(), whole, List.of(ask))));
            for (int i = 0; i < parts.size(); i++) {
                steps.add(new Call(i, ScriptArguments.at(row.now(), parts.get(i), List.of(Ask.look(1)))));
            }
        }
        List<Object> replies = calls.callAll(whole.script(), ScriptCalls.keys(whole, "vectors"), steps)
                .get();
        assertThat(replies).hasSameSizeAs(steps);
        for (int i = 0; i < section.rows().size(); i++) {
            int first = i * (1 + parts.size());
            check(section.policy(), section.rows().get(i), replies.subList(first, first + 1 + parts.size()));
        }
    }

    private static List<PolicyArguments> parts(RateLimitPolicy policy) {
        List<RateLimitPolicy> policies =
                policy instanceof CompositePolicy composite ? composite.parts() : List.of(policy);
        return policies.stream()
                .map(part -> PolicyArguments.of(part, GoldenVectors.START))
                .toList();
    }

    private static void check(RateLimitPolicy policy, Row row, List<Object> replies) {
        String step = policy + ": " + row.line();
        Answer answer = ScriptReply.parse(replies.get(0), ScriptCalls.takes(1), replies.size() - 1)
                .answers()
                .get(0);
        if (!row.isRefund()) {
            assertThat(answer.allowed()).as(step).isEqualTo(row.allowed());
            assertThat(answer.waitMicros()).as(step).isEqualTo(row.retry());
        }
        List<Answer> looks = replies.subList(1, replies.size()).stream()
                .map(reply -> ScriptReply.parse(reply, ScriptCalls.takes(1), 1)
                        .answers()
                        .get(0))
                .toList();
        assertThat(looks.stream().mapToLong(Answer::remaining).min()).as(step).hasValue(row.remaining());
        assertThat(looks.stream().mapToLong(Answer::resetMicros).max()).as(step).hasValue(row.reset());
        assertThat(answer.remaining())
                .as(step)
                .isEqualTo(looks.get(answer.part()).remaining());
        assertThat(answer.resetMicros()).as(step).isEqualTo(row.reset());
    }
}
