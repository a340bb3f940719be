package io.github.reactorratelimit.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class ExamplesTest {

    private static final Pattern DEPARTURE = Pattern.compile("(?m)^order +(\\d+) +(\\d+) ms =*>$");

    private static final Pattern ANSWER = Pattern.compile("(?m)^ok after +(\\d+) ms$");

    private static final Pattern ADAPTED =
            Pattern.compile("(?m)^ *(\\d+) at a time: +(\\d+) answered, +(\\d+) refused$");

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

    /** Each line: who asked for what, the status, and the layer that the header field tells of with what it has left. */
    @Test
    void layeredWebFilterNamesTheLayerThatBindsAndADenialCostsNothingInTheOthers() {
        List<String> lines =
                outputOf(() -> LayeredWebFilter.main(new String[0])).lines().toList();

        assertThat(lines)
                .map(line -> line.replaceAll(";t=.*", ""))
                .containsExactly(
                        "alice /reports 200  RateLimit: \"reports\";r=1",
                        "alice /reports 200  RateLimit: \"reports\";r=0",
                        "alice /reports 429  RateLimit: \"reports\";r=0",
                        "alice /hello   200  RateLimit: \"user\";r=1",
                        "alice /hello   200  RateLimit: \"user\";r=0",
                        "alice /hello   429  RateLimit: \"user\";r=0",
                        "bob   /hello   200  RateLimit: \"address\";r=1",
                        "bob   /hello   200  RateLimit: \"address\";r=0",
                        "bob   /hello   429  RateLimit: \"address\";r=0");
        assertThat(lines.get(2)).contains("\"violated-policies\":[\"reports\"]");
        assertThat(lines.get(5)).contains("\"violated-policies\":[\"user\"]");
        assertThat(lines.get(8)).contains("\"violated-policies\":[\"address\"]");
    }

    @Test
    void webSocketMessagesCloseTheConnectionThatIsOneTooManyAndTheOneThatSaysTooMuch() {
        assertThat(outputOf(() -> WebSocketMessages.main(new String[0]))).isEqualTo("""
                        alice connects, and once more
                          hello
                          closed: 1008 rate limit exceeded
                        bob says four things
                          one
                          two
                          three
                          closed: 1008 rate limit exceeded
                        """);
    }

    @Test
    void adaptiveCallsEndNearWhatTheServerBears() {
        List<MatchResult> lines = ADAPTED.matcher(outputOf(() -> AdaptiveCalls.main(new String[0])))
                .results()
                .toList();

        assertThat(lines).hasSizeGreaterThan(5);
        MatchResult last = lines.get(lines.size() - 1);
        assertThat(Integer.parseInt(last.group(1))).isBetween(4, 16);
        assertThat(Integer.parseInt(last.group(2))).isGreaterThan(9 * Integer.parseInt(last.group(3)));
    }

    @Test
    void settledTokensAreThoseThatAnswersTook() {
        assertThat(outputOf(() -> SettledTokens.main(new String[0]))).isEqualTo("""
                        a short answer  3 chunks   910 tokens left
                        a long answer   12 chunks  550 tokens left
                        one cut short   2 chunks   490 tokens left
                        one too long    30 chunks    0 tokens left
                        the next one    denied       0 tokens left
                        """);
    }

    @Test
    void everyExampleIsInTheReadme() throws IOException {
        Path root = Path.of(System.getProperty("basedir", "")).toAbsolutePath().getParent();
        String readme = Files.readString(root.resolve("README.md"));
        try (Stream<Path> sources =
                Files.list(root.resolve("examples/src/main/java/io/github/reactorratelimit/examples"))) {
            assertThat(sources.map(source -> source.getFileName().toString())
                            .filter(name -> name.matches("[A-Z]\\w+\\.java")))
                    .hasSizeGreaterThan(5)
                    .allSatisfy(name -> assertThat(readme).contains("| `" + name.replace(".java", "") + "` |"));
        }
    }
}
