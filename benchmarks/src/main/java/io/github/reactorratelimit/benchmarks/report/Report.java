package io.github.reactorratelimit.benchmarks.report;

import io.github.reactorratelimit.benchmarks.Contender;
import io.github.reactorratelimit.benchmarks.Group;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.results.format.ResultFormatFactory;
import org.openjdk.jmh.results.format.ResultFormatType;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Stores JMH's JSON of each group in {@code data} and writes {@code results.md} and a chart per group from
 * what is stored. A group that runs again replaces its own results only.
 */
public final class Report {

    private final Path directory;
    private final List<Group> groups;

    /** A report in {@code directory}, with the groups in this order. */
    public Report(Path directory, List<Group> groups) {
        this.directory = directory;
        this.groups = List.copyOf(groups);
    }

    /** Stores the results of a group, and how it was run. */
    public void keep(Group group, Collection<RunResult> results, String command) throws IOException {
        Files.createDirectories(directory.resolve("data"));
        ResultFormatFactory.getInstance(
                        ResultFormatType.JSON, data(group, ".json").toString())
                .writeOut(results);
        String run = String.join(
                ", ",
                Instant.now().truncatedTo(ChronoUnit.MINUTES).toString(),
                "`" + command + "`",
                "JDK " + System.getProperty("java.version"),
                Runtime.getRuntime().availableProcessors() + " cores",
                System.getProperty("os.name") + " " + System.getProperty("os.arch"));
        Files.writeString(data(group, ".txt"), run + "\n", StandardCharsets.UTF_8);
    }

    /** Writes tables and charts. */
    public void write() throws IOException {
        StringBuilder text = new StringBuilder("""
                # Benchmark results

                The module `benchmarks` writes this page: [how to run and read it](../benchmarks.md). A value is the median of its
                rounds. Compare only within one table: its rows come from one run. This runs every group:

                    mvn -q -pl benchmarks -am spring-boot:run -Dbench="quick"

                """);
        for (Group group : groups) {
            if (Files.exists(data(group, ".json"))) {
                text.append(section(group));
            }
        }
        Files.createDirectories(directory);
        Files.writeString(
                directory.resolve("results.md"), text.toString().stripTrailing() + "\n", StandardCharsets.UTF_8);
    }

    private String section(Group group) throws IOException {
        Table table = new Table(rows(group));
        String svg = Chart.svg(group.title(), table.rows());
        Files.writeString(directory.resolve(group.name() + ".svg"), svg, StandardCharsets.UTF_8);
        String note = group.note().isEmpty() ? "" : group.note() + "\n\n";
        return "## " + group.title() + "\n\n" + note + table.markdown() + "\n![" + group.title() + "](" + group.name()
                + ".svg)\n\nGroup `" + group.name() + "`, [JMH's results](data/" + group.name() + ".json), "
                + Files.readString(data(group, ".txt"), StandardCharsets.UTF_8).strip() + ".\n\n";
    }

    private List<Row> rows(Group group) throws IOException {
        JsonNode results = JsonMapper.shared().readTree(Files.readString(data(group, ".json"), StandardCharsets.UTF_8));
        List<Row> rows = new ArrayList<>();
        for (Contender contender : group.contenders()) {
            for (JsonNode result : results) {
                if (result.get("params").get("contender").asString().equals(contender.name())) {
                    rows.add(Row.of(contender, result));
                }
            }
        }
        return rows;
    }

    private Path data(Group group, String ending) {
        return directory.resolve("data").resolve(group.name() + ending);
    }
}
