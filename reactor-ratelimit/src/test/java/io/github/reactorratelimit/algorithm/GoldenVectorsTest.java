package io.github.reactorratelimit.algorithm;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.algorithm.GoldenVectors.Row;
import io.github.reactorratelimit.algorithm.GoldenVectors.Section;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The vectors that drive every implementation of an algorithm, whatever its language. */
class GoldenVectorsTest {

    @ParameterizedTest
    @MethodSource("files")
    void algorithmGivesTheGoldenAnswers(String file) {
        List<Section> sections = GoldenVectors.sections(file);
        assertThat(sections).isNotEmpty();
        for (Section section : sections) {
            run(section, Algorithms.of(section.policy(), VectorGenerator.CLOCK));
        }
    }

    @ParameterizedTest
    @MethodSource("filesOfClocksThatGoOn")
    void compactAlgorithmGivesTheGoldenAnswersToo(String file) {
        for (Section section : GoldenVectors.sections(file)) {
            run(section, Algorithms.of(section.policy(), VectorGenerator.CLOCK).compact());
        }
    }

    @ParameterizedTest
    @MethodSource("filesOfClocksThatGoOn")
    void modelGivesTheGoldenAnswersToo(String file) {
        for (Section section : GoldenVectors.sections(file)) {
            ReferenceModel model = Scenario.model(section.policy(), VectorGenerator.CLOCK);
            for (Row row : section.rows()) {
                runModel(model, row);
            }
        }
    }

    static List<String> files() {
        return GoldenVectors.files();
    }

    static List<String> filesOfClocksThatGoOn() {
        return files().stream().filter(file -> !file.equals("backward")).toList();
    }

    private static <S> void run(Section section, Algorithm<S> algorithm) {
        S state = algorithm.fresh();
        for (Row row : section.rows()) {
            String step = section.policy() + ": " + row.line();
            state = BackwardClock.rebase(algorithm, state, row.now());
            if (row.isRefund()) {
                state = algorithm.refund(state, row.now(), row.debitedAt(), row.permits());
            } else {
                long wait = algorithm.waitTicks(state, row.now(), row.permits());
                assertThat(wait == 0).as(step).isEqualTo(row.allowed());
                assertThat(wait).as(step).isEqualTo(row.retry());
                state = row.allowed() ? algorithm.debit(state, row.now(), row.permits()) : state;
            }
            assertThat(algorithm.remaining(state, row.now())).as(step).isEqualTo(row.remaining());
            assertThat(algorithm.resetTicks(state, row.now())).as(step).isEqualTo(row.reset());
        }
    }

    private static void runModel(ReferenceModel model, Row row) {
        if (row.isRefund()) {
            model.refund(row.now(), row.debitedAt(), row.permits());
        } else {
            assertThat(model.allows(row.now(), row.permits())).as(row.line()).isEqualTo(row.allowed());
            if (row.allowed()) {
                model.debit(row.now(), row.permits());
            } else {
                assertThat(model.retry(row.now(), row.permits())).as(row.line()).isEqualTo(row.retry());
            }
        }
        assertThat(model.remaining(row.now())).as(row.line()).isEqualTo(row.remaining());
        assertThat(model.reset(row.now())).as(row.line()).isEqualTo(row.reset());
    }
}
