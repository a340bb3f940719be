package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.algorithm.GoldenVectors;
import io.github.reactorratelimit.algorithm.GoldenVectors.Row;
import io.github.reactorratelimit.algorithm.GoldenVectors.Section;
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
class CommandVectorsTest {

    private final StatefulRedisConnection<String, String> connection;
    private final ScriptSteps script;

    CommandVectorsTest(Standalone redis) {
        connection = redis.connect();
        script = new ScriptSteps(connection);
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
                "warm_up",
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

    /** A peek follows each step: of a composite a vector tells what remains of all parts together. */
    private void run(Section section) throws Exception {
        ServerClock clock = ScriptSteps.clockAt(GoldenVectors.START);
        ScriptPolicy policy = ScriptPolicy.of(section.policy());
        List<ScriptSteps.Step> steps = new ArrayList<>();
        for (Row row : section.rows()) {
            Command command =
                    row.isRefund() ? Command.refund(row.permits(), row.debitedAt()) : Command.acquire(row.permits());
            steps.add(new ScriptSteps.Step(row.now(), List.of(command)));
            steps.add(new ScriptSteps.Step(row.now(), List.of(Command.peek(1))));
        }
        List<List<CommandReply>> replies =
                script.callAll(policy, clock, "{vectors}", steps).get();
        for (int i = 0; i < section.rows().size(); i++) {
            check(
                    section,
                    section.rows().get(i),
                    replies.get(2 * i).get(0),
                    replies.get(2 * i + 1).get(0));
        }
    }

    private static void check(Section section, Row row, CommandReply reply, CommandReply peek) {
        String step = section.policy() + ": " + row.line();
        if (!row.isRefund()) {
            assertThat(reply.allowed()).as(step).isEqualTo(row.allowed());
            assertThat(reply.waitMicros()).as(step).isEqualTo(row.retry());
        }
        assertThat(reply.resetMicros()).as(step).isEqualTo(row.reset());
        assertThat(peek.remaining()).as(step).isEqualTo(row.remaining());
        assertThat(peek.resetMicros()).as(step).isEqualTo(row.reset());
    }
}
