package io.github.reactorratelimit.benchmarks.report;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Keeps the data of all groups in one directory and writes tables and charts from it: {@code results.md}, {@code
 * <group>.svg} and {@code data/<group>.csv}. A group that is run again replaces its own data only.
 */
public final class Report {

    private final Path directory;
    private final List<Group> groups;

    /** A report on {@code groups}, in this order, in {@code directory}. */
    public Report(Path directory, List<Group> groups) {
        this.directory = directory;
        this.groups = List.copyOf(groups);
    }

    /** Keeps the rounds of one group, in place of those of its last run. */
    public void keep(Group group, Run run, List<Round> rounds) throws IOException {
        data(group).write(group, run, rounds);
    }

    /** Writes tables and charts of all data there is; returns it. */
    public List<Results> write() throws IOException {
        List<Results> all = new ArrayList<>();
        for (Group group : groups) {
            Optional<Results> results = data(group).read(group);
            results.filter(found -> !found.measurements().isEmpty()).ifPresent(all::add);
        }
        Files.createDirectories(directory);
        for (Results results : all) {
            String svg = results.group().hasLines() ? LineChart.svg(results) : BarChart.svg(results);
            write(results.group().id() + ".svg", svg);
        }
        write("results.md", Tables.markdown(all));
        return all;
    }

    private DataFile data(Group group) {
        return new DataFile(directory.resolve("data"), group);
    }

    private void write(String name, String text) throws IOException {
        Files.writeString(directory.resolve(name), text, StandardCharsets.UTF_8);
    }
}
