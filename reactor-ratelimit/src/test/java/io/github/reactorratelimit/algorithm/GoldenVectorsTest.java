package io.github.reactorratelimit.algorithm;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.CompositePolicy;
import io.github.reactorratelimit.RateLimitPolicy;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The vectors that drive every implementation of an algorithm, whatever its language. */
class GoldenVectorsTest {

    private static final long EXACT_IN_A_DOUBLE = 1L << 53;

    /** One row: {@code op,now,permits,debited_at,allowed,remaining,retry,reset}. */
    private record Row(
            String line,
            String op,
            long now,
            long permits,
            long debitedAt,
            boolean allowed,
            long remaining,
            long retry,
            long reset) {

        static Row parse(String line) {
            String[] fields = line.split(",", -1);
            return new Row(
                    line,
                    fields[0],
                    number(fields[1]),
                    number(fields[2]),
                    number(fields[3]),
                    fields[4].equals("1"),
                    number(fields[5]),
                    number(fields[6]),
                    number(fields[7]));
        }

        private static long number(String field) {
            if (field.equals("unknown")) {
                return Algorithm.UNKNOWN;
            }
            long value = field.isEmpty() ? 0 : Long.parseLong(field);
            assertThat(value).isBetween(0L, EXACT_IN_A_DOUBLE - 1);
            return value;
        }
    }

    private record Section(RateLimitPolicy policy, List<Row> rows) {}

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
                "concurrency",
                "composite",
                "backward"
            })
    void algorithmGivesTheGoldenAnswers(String file) {
        List<Section> sections = sections(file);
        assertThat(sections).isNotEmpty();
        for (Section section : sections) {
            run(section, Algorithms.of(section.policy, VectorGenerator.CLOCK));
            Algorithms.asLong(section.policy, VectorGenerator.CLOCK).ifPresent(packed -> run(section, packed.boxed()));
        }
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
                "concurrency",
                "composite"
            })
    void modelGivesTheGoldenAnswersToo(String file) {
        for (Section section : sections(file)) {
            ReferenceModel model = Scenario.model(section.policy, VectorGenerator.CLOCK);
            for (Row row : section.rows) {
                runModel(model, row);
            }
        }
    }

    private static <S> void run(Section section, Algorithm<S> algorithm) {
        S state = algorithm.fresh();
        for (Row row : section.rows) {
            String step = section.policy + ": " + row.line;
            state = algorithm.rebase(state, row.now);
            if (row.op.equals("refund")) {
                state = algorithm.refund(state, row.now, row.debitedAt, row.permits);
            } else {
                long wait = algorithm.waitTicks(state, row.now, row.permits);
                assertThat(wait == 0).as(step).isEqualTo(row.allowed);
                assertThat(wait).as(step).isEqualTo(row.retry);
                state = row.allowed ? algorithm.debit(state, row.now, row.permits) : state;
            }
            assertThat(algorithm.remaining(state, row.now)).as(step).isEqualTo(row.remaining);
            assertThat(algorithm.resetTicks(state, row.now)).as(step).isEqualTo(row.reset);
        }
    }

    private static void runModel(ReferenceModel model, Row row) {
        if (row.op.equals("refund")) {
            model.refund(row.now, row.debitedAt, row.permits);
        } else {
            assertThat(model.allows(row.now, row.permits)).as(row.line).isEqualTo(row.allowed);
            if (row.allowed) {
                model.debit(row.now, row.permits);
            } else {
                assertThat(model.retry(row.now, row.permits)).as(row.line).isEqualTo(row.retry);
            }
        }
        assertThat(model.remaining(row.now)).as(row.line).isEqualTo(row.remaining);
        assertThat(model.reset(row.now)).as(row.line).isEqualTo(row.reset);
    }

    private static List<Section> sections(String file) {
        List<Section> sections = new ArrayList<>();
        List<RateLimitPolicy> policies = new ArrayList<>();
        List<Row> rows = List.of();
        for (String line : lines(file)) {
            List<String> fields = Arrays.asList(line.split(","));
            if (fields.get(0).equals("policy") || fields.get(0).equals("part")) {
                policies.add(VectorPolicies.parse(fields.subList(1, fields.size())));
                continue;
            }
            if (!policies.isEmpty()) {
                rows = new ArrayList<>();
                sections.add(new Section(policies.size() == 1 ? policies.get(0) : new CompositePolicy(policies), rows));
                policies = new ArrayList<>();
            }
            rows.add(Row.parse(line));
        }
        return sections;
    }

    private static List<String> lines(String file) {
        try (InputStream in = GoldenVectorsTest.class.getResourceAsStream("/vectors/" + file + ".csv")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> !line.isBlank() && !line.startsWith("#"))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
