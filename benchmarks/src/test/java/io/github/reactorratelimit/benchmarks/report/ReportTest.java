package io.github.reactorratelimit.benchmarks.report;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.benchmarks.ComparedBenchmark;
import io.github.reactorratelimit.benchmarks.Contender;
import io.github.reactorratelimit.benchmarks.Contender.Kind;
import io.github.reactorratelimit.benchmarks.Group;
import io.github.reactorratelimit.benchmarks.waiting.WaitContender;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.xml.sax.InputSource;
import tools.jackson.databind.json.JsonMapper;

class ReportTest {

    @TempDir
    Path directory;

    @Test
    void rowIsTheMedianOfTheRoundsWithItsRange() {
        String json = """
                {"params": {"jar": "current", "contender": "BUCKET4J"},
                 "primaryMetric": {"scoreUnit": "ns/op", "rawData": [[10, 14], [30, 30], [11, 11]]},
                 "secondaryMetrics": {
                   "gc.alloc.rate.norm": {"rawData": [[24.2], [24.4], [23.9]]},
                   "gc.alloc.rate": {"rawData": [[1], [2], [3]]},
                   "bytesPerKey": {"rawData": [[26], [27], [25]]}}}
                """;

        assertThat(Row.of(WaitContender.BUCKET4J, JsonMapper.shared().readTree(json)))
                .isEqualTo(new Row(
                        WaitContender.BUCKET4J.label(),
                        Kind.PEER,
                        "current",
                        "ns/op",
                        12,
                        11,
                        30,
                        Map.of("B/op", 24.0, "bytes per key", 26.0)));
    }

    @Test
    void ratiosReferToTheBestPeerAndTheFirstFloorAndTheSameRowOfTheBaseline() {
        List<Row> rows = List.of(
                row("ours", Kind.OURS, ComparedBenchmark.CURRENT, "ns/op", 12),
                row("ours", Kind.OURS, ComparedBenchmark.BASELINE, "ns/op", 16),
                row("slow", Kind.PEER, ComparedBenchmark.CURRENT, "ns/op", 48),
                row("fast", Kind.PEER, ComparedBenchmark.CURRENT, "ns/op", 24),
                row("floor", Kind.FLOOR, ComparedBenchmark.CURRENT, "ns/op", 10),
                row("lower", Kind.FLOOR, ComparedBenchmark.CURRENT, "ns/op", 5));

        assertThat(new Table(rows).markdown())
                .contains("| contender | ns/op | range | baseline | × baseline | × best peer | × floor |")
                .contains("| **ours** | 12 | 12 – 12 | 16 | 0.750 | 0.500 | 1.200 |")
                .contains("| slow | 48 | 48 – 48 | – | – | 2.000 | 4.800 |");
    }

    @Test
    void bestPeerHasTheHighestThroughput() {
        List<Row> rows = List.of(
                row("ours", Kind.OURS, ComparedBenchmark.CURRENT, "ops/s", 90),
                row("slow", Kind.PEER, ComparedBenchmark.CURRENT, "ops/s", 10),
                row("fast", Kind.PEER, ComparedBenchmark.CURRENT, "ops/s", 30));

        assertThat(new Table(rows).markdown()).contains("| **ours** | 90 | 90 – 90 | 3.000 | – |");
    }

    @Test
    void reportIsWrittenFromTheStoredResults() throws IOException {
        Group group = new Group(
                "a-group",
                "A group",
                Object.class,
                "method",
                1,
                Map.of(),
                List.<Contender>of(WaitContender.BUCKET4J),
                "A note.");
        Files.createDirectories(directory.resolve("data"));
        Files.writeString(directory.resolve("data/a-group.txt"), "one day, a command\n");
        Files.writeString(directory.resolve("data/a-group.json"), """
                [{"params": {"jar": "current", "contender": "BUCKET4J"},
                  "primaryMetric": {"scoreUnit": "ns/op", "rawData": [[7]]}, "secondaryMetrics": {}}]
                """);

        new Report(directory, List.of(group)).write();

        assertThat(directory.resolve("results.md"))
                .content()
                .contains(
                        "## A group", "A note.", "| Bucket4j, asScheduler | 7 |", "one day, a command", "a-group.svg");
        assertThat(directory.resolve("a-group.svg")).exists();
    }

    @Test
    void chartIsWellFormedAndCutsABarThatIsMuchLonger() throws Exception {
        String svg = Chart.svg(
                "Title <of> a & b",
                List.of(
                        row("a & b", Kind.OURS, "", "ns/op", 11),
                        row("fast", Kind.PEER, "", "ns/op", 20),
                        row("slow", Kind.PEER, "", "ns/op", 4_000)));

        assertThat(texts(svg)).contains("Title <of> a & b", "a & b", "11", "20", "… 4 000");
    }

    private static Row row(String label, Kind kind, String jar, String unit, double value) {
        return new Row(label, kind, jar, unit, value, value, value, Map.of());
    }

    private static List<String> texts(String svg) throws Exception {
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
