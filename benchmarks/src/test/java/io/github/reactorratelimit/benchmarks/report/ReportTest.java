package io.github.reactorratelimit.benchmarks.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.benchmarks.report.Verdict.Outcome;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.xml.sax.InputSource;

class ReportTest {

    private static final Run RUN = new Run("2026-01-01T00:00:00Z", "mvn quick", "a JVM", 2, "Linux amd64");

    @TempDir
    Path directory;

    @Test
    void measurementIsTheMedianWithItsRange() {
        Results results = results(Better.LESS, List.of(), List.of(rounds("ours", 12, 10, 30)));

        assertThat(results.of("ours"))
                .hasValue(
                        new Measurement("a-group", "ours", Kind.OURS, "ns/op", 12, 10, 30, 0, Map.of("p99 ms", 24.0)));
    }

    @Test
    void ratiosReferToTheBestPeerAndTheFirstFloor() {
        Results less = results(
                Better.LESS,
                List.of(Goal.bestPeer("ours", 0.5), Goal.contender("ours", "floor", 1.2)),
                List.of(
                        rounds("ours", 12),
                        rounds("slow & old", 48),
                        rounds("fast", 24),
                        rounds("floor", 10),
                        rounds("lower", 5)));

        assertThat(less.verdicts()).extracting(Verdict::reached).containsExactly(0.5, 1.2);
        assertThat(Tables.table(less)).contains("| **ours** | ours | 12 | 12 – 12 | 0 | 24 | 0.50 | 1.20 |");

        Results more = results(
                Better.MORE,
                List.of(Goal.bestPeer("ours", 2)),
                List.of(rounds("ours", 90), rounds("slow & old", 10), rounds("fast", 30)));
        assertThat(more.verdicts()).extracting(Verdict::reached).containsExactly(3.0);
    }

    @Test
    void targetIsMetUpToItsBoundAndNotBeyond() {
        assertThat(outcome(Better.LESS, 12, 24, 0.5)).isEqualTo(Outcome.MET);
        assertThat(outcome(Better.LESS, 12.1, 24, 0.5)).isEqualTo(Outcome.NOT_MET);
        assertThat(outcome(Better.MORE, 48, 24, 2)).isEqualTo(Outcome.MET);
        assertThat(outcome(Better.MORE, 47.9, 24, 2)).isEqualTo(Outcome.NOT_MET);
    }

    @Test
    void whatWasNotMeasuredIsNeitherMetNorMissed() {
        Results results = results(Better.LESS, List.of(Goal.bestPeer("ours", 1)), List.of(rounds("ours", 1)));

        assertThat(results.verdicts()).extracting(Verdict::outcome).containsExactly(Outcome.NOT_MEASURED);
        assertThat(Tables.markdown(List.of(results))).contains("not measured");
    }

    @Test
    void detailsAndBytesCountAsLessIsBetterWhateverTheGroupSays() {
        List<Goal> goals = List.of(
                Goal.detailOfBestPeer("ours", "p99 ms", 1),
                Goal.detail("ours", "p99 ms", 23),
                Goal.bytes("ours", 0),
                Goal.extraBytes("ours", "fast", -1));
        Results results = results(Better.MORE, goals, List.of(rounds("ours", 12), rounds("fast", 24)));

        assertThat(results.verdicts())
                .extracting(Verdict::outcome)
                .containsExactly(Outcome.MET, Outcome.NOT_MET, Outcome.MET, Outcome.NOT_MET);
    }

    @Test
    void reportIsMadeFromTheDataKeptAndAGroupRunAgainReplacesItsOwn() throws IOException {
        Group first = group("first", Better.LESS, List.of(Goal.value("ours", 11)));
        Group second = group("second", Better.LESS, List.of());
        Report report = new Report(directory, List.of(first, second));
        report.keep(first, RUN, rounds("ours", 12, 10));
        report.keep(second, RUN, rounds("ours", 7));
        report.keep(first, RUN, rounds("ours", 14));

        List<Results> all = new Report(directory, List.of(first, second)).write();

        assertThat(all)
                .containsExactly(
                        Results.of(first, RUN, rounds("ours", 14)), Results.of(second, RUN, rounds("ours", 7)));
        assertThat(directory.resolve("results.md"))
                .content()
                .contains("ours ≤ 11 ns/op: **not met** (14)", "![second]", "2 cores", "`mvn quick`");
    }

    @Test
    void chartsAreWellFormed() throws Exception {
        Group bars = group("bars", Better.LESS, List.of());
        Contender line = Contender.ours("a & b");
        Group lines = new Group(
                "lines",
                "Lines <of> growth",
                "ns/op",
                Better.LESS,
                List.of(line.at(1_000, "10^3"), line.at(10_000, "10^4")),
                List.of(),
                "");
        Report report = new Report(directory, List.of(bars, lines));
        List<Round> rounds = new ArrayList<>(rounds("ours", 12, 10));
        rounds.addAll(rounds("slow & old", 4_000));
        rounds.addAll(rounds("fast", 20));
        report.keep(bars, RUN, rounds);
        report.keep(
                lines,
                RUN,
                Stream.concat(rounds("a & b, 10^3", 5).stream(), rounds("a & b, 10^4", 9).stream())
                        .toList());
        report.write();

        assertThat(texts("bars.svg")).contains("ours", "slow & old", "11", "4 000");
        assertThat(texts("lines.svg")).contains("Lines <of> growth", "a & b", "10 000");
    }

    @Test
    void readmeIsRenewedBetweenItsMarkersOnly() throws IOException {
        Path readme = directory.resolve("README.md");
        Files.writeString(readme, "before\n" + Summary.START + "\nold\n" + Summary.END + "\nafter\n");
        Results results = results(
                Better.LESS, List.of(Goal.bestPeer("ours", 0.4)), List.of(rounds("ours", 12), rounds("fast", 24)));

        Summary.refresh(readme, List.of(results));
        Summary.refresh(readme, List.of(results));

        assertThat(readme)
                .content()
                .startsWith("before\n" + Summary.START + "\n|")
                .endsWith(Summary.END + "\nafter\n")
                .contains("| a-group | ns/op | **12** | 24 (fast) | – | 0.50 | – | not met |")
                .doesNotContain("old\n");
    }

    @Test
    void goalOfAnUnknownContenderIsRefused() {
        assertThatThrownBy(() -> group("a-group", Better.LESS, List.of(Goal.bytes("theirs", 0))))
                .isInstanceOf(IllegalArgumentException.class);
    }

    private static Outcome outcome(Better better, double ours, double peer, double bound) {
        Results results = results(
                better, List.of(Goal.bestPeer("ours", bound)), List.of(rounds("ours", ours), rounds("fast", peer)));
        return results.verdicts().get(0).outcome();
    }

    private static Group group(String id, Better better, List<Goal> goals) {
        List<Contender> contenders = List.of(
                Contender.ours("ours"),
                Contender.peer("slow & old"),
                Contender.peer("fast"),
                Contender.floor("floor"),
                Contender.floor("lower"));
        return new Group(id, id, "ns/op", better, contenders, goals, "");
    }

    private static Results results(Better better, List<Goal> goals, List<List<Round>> rounds) {
        return Results.of(
                group("a-group", better, goals),
                RUN,
                rounds.stream().flatMap(List::stream).toList());
    }

    private static List<Round> rounds(String contender, double... values) {
        List<Round> rounds = new ArrayList<>();
        for (double value : values) {
            rounds.add(
                    new Round(contender, rounds.size() + 1, Sample.of(value, 0).with("p99 ms", 2 * value)));
        }
        return rounds;
    }

    private List<String> texts(String file) throws Exception {
        String svg = Files.readString(directory.resolve(file));
        var document =
                DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new InputSource(new StringReader(svg)));
        List<String> texts = new ArrayList<>();
        var nodes = document.getElementsByTagName("text");
        for (int i = 0; i < nodes.getLength(); i++) {
            texts.add(nodes.item(i).getTextContent());
        }
        return texts;
    }
}
