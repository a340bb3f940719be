package io.github.reactorratelimit.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class ExamplesTest {

    private static final Pattern DEPARTURE = Pattern.compile("(?m)^order +(\\d+) +(\\d+) ms =*>$");

    private static final Pattern ANSWER = Pattern.compile("(?m)^ok after +(\\d+) ms$");

    private static String outputOf(Runnable program) {
        PrintStream before = System.out;
        ByteArrayOutputStream captured = new ByteArrayOutputStream();
        System.setOut(new PrintStream(captured, true, StandardCharsets.UTF_8));
        try {
            program.run();
        } finally {
            System.setOut(before);
        }
        return captured.toString(StandardCharsets.UTF_8).replace("\r\n", "\n");
    }

    @Test
    void pacedFluxPrintsEveryDepartureInOrderAndWithinTheBoundOfItsPolicy() {
        List<MatchResult> departures = DEPARTURE
                .matcher(outputOf(() -> PacedFlux.main(new String[0])))
                .results()
                .toList();

        assertThat(departures).hasSize(20);
        for (int i = 0; i < departures.size(); i++) {
            long elapsedMillis = Long.parseLong(departures.get(i).group(2));
            assertThat(departures.get(i).group(1)).isEqualTo(Integer.toString(i + 1));
            assertThat(i + 1L).isLessThanOrEqualTo(5 + 6 * (elapsedMillis + 1) / 1_000);
        }
    }

    @Test
    void keyedOrdersDropsAndReplacesWhatIsOverTheLimitOfEachCustomer() {
        assertThat(outputOf(() -> KeyedOrders.main(new String[0]))).isEqualTo("""
                        drop what is over 5 lines an hour for each customer
                          passed  3 lines of alice
                          passed  2 lines of alice
                          dropped 1 lines of alice
                          passed  4 lines of bob
                          dropped 1 lines of alice
                          passed  1 lines of bob
                        replace it
                          passed  3 lines of alice
                          passed  2 lines of alice
                          passed  0 lines of alice
                          passed  4 lines of bob
                          passed  0 lines of alice
                          passed  1 lines of bob
                        """);
    }

    @Test
    void sharedCallDeniesWhatIsOverTheBurstAndSaysWhenToComeBack() {
        assertThat(outputOf(() -> SharedCall.main(new String[0])).lines())
                .satisfiesExactly(
                        title -> assertThat(title).startsWith("5 calls"),
                        first -> assertThat(first).isEqualTo("A costs 100"),
                        second -> assertThat(second).isEqualTo("BB costs 200"),
                        third -> assertThat(third).isEqualTo("CCC costs 300"),
                        fourth -> assertThat(fourth).matches("denied, come back in \\d+ s"),
                        fifth -> assertThat(fifth).matches("denied, come back in \\d+ s"));
    }

    @Test
    void outboundCallsAreAnsweredNoFasterThanTheServerBears() {
        List<MatchResult> answers = ANSWER.matcher(outputOf(() -> OutboundCalls.main(new String[0])))
                .results()
                .toList();

        assertThat(answers).hasSize(10);
        for (int i = 0; i < answers.size(); i++) {
            assertThat(Long.parseLong(answers.get(i).group(1)) + 1).isGreaterThanOrEqualTo(50L * i);
        }
    }

    @Test
    void prioritiesLetQuestionsGoBeforeReportsThatCameFirst() {
        assertThat(outputOf(() -> Priorities.main(new String[0])).lines())
                .containsExactly("report 1", "question 1", "question 2", "report 2", "report 3");
    }
}
