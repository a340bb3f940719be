package io.github.reactorratelimit.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
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

    @Test
    void redisLimitIsOneForBothInstancesAndEachHasItsShareOnceRedisHasDied() {
        String shared = """
                6 calls an hour for each customer, at both instances together
                  A: a call of alice is allowed, 5 left
                  B: a call of alice is allowed, 4 left
                  A: a call of alice is allowed, 3 left
                  B: a call of alice is allowed, 2 left
                  A: a call of alice is allowed, 1 left
                  B: a call of alice is allowed, 0 left
                  A: a call of alice is denied, 0 left
                  B: a call of alice is denied, 0 left
                """;
        String alone = """
                Redis has died: 3 at each of them
                  A: a call of bob is allowed, 2 left, decided without Redis
                  B: a call of bob is allowed, 2 left, decided without Redis
                  A: a call of bob is allowed, 1 left, decided without Redis
                  B: a call of bob is allowed, 1 left, decided without Redis
                  A: a call of bob is allowed, 0 left, decided without Redis
                  B: a call of bob is allowed, 0 left, decided without Redis
                  A: a call of bob is denied, 0 left, decided without Redis
                  B: a call of bob is denied, 0 left, decided without Redis
                """;
        boolean isUsersServer = System.getenv("REDIS_URI") != null;

        assertThat(outputOf(() -> RedisLimit.main(new String[0]))).isEqualTo(isUsersServer ? shared : shared + alone);
    }

    @Test
    void redisClusterLimitsSpreadCustomersAndKeepTheLimitsOfOneTogether() {
        List<String> lines =
                outputOf(() -> RedisClusterLimits.main(new String[0])).lines().toList();

        assertThat(numbersIn(lines.get(0)))
                .hasSize(3)
                .allMatch(keys -> keys > 50)
                .satisfies(keys -> assertThat(
                                keys.stream().mapToInt(Integer::intValue).sum())
                        .isEqualTo(300));
        assertThat(lines.subList(1, 4))
                .containsExactly(
                        "an export of alice is allowed, 9 requests left",
                        "an export of alice is allowed, 8 requests left",
                        "an export of alice is denied, 8 requests left");
        assertThat(numbersIn(lines.get(4))).containsExactlyInAnyOrder(0, 0, 2);
    }

    /** Of a list at the end of the line. */
    private static List<Integer> numbersIn(String line) {
        String list = line.substring(line.indexOf('[') + 1, line.indexOf(']'));
        return Arrays.stream(list.split(", ")).map(Integer::valueOf).toList();
    }
}
