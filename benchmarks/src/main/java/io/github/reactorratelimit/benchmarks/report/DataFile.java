package io.github.reactorratelimit.benchmarks.report;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The raw rounds of one group, one file per group: a group that is run again replaces its own file and no other, and a report
 * can be made again from the files alone. Lines that start with {@code #} say how it was run; the rest is CSV whose fields
 * are separated by semicolons.
 */
final class DataFile {

    private static final String HEADER = "contender;round;value;bytes per operation;details";

    private final Path path;

    DataFile(Path directory, Group group) {
        this.path = directory.resolve(group.id() + ".csv");
    }

    void write(Group group, Run run, List<Round> rounds) throws IOException {
        List<String> lines = new ArrayList<>();
        lines.add("# group=" + group.id());
        lines.add("# unit=" + group.unit());
        lines.add("# date=" + run.date());
        lines.add("# command=" + run.command());
        lines.add("# jdk=" + run.jdk());
        lines.add("# cores=" + run.cores());
        lines.add("# system=" + run.system());
        lines.add(HEADER);
        for (Round round : rounds) {
            lines.add(line(round));
        }
        Files.createDirectories(path.toAbsolutePath().getParent());
        Files.writeString(path, String.join("\n", lines) + "\n", StandardCharsets.UTF_8);
    }

    Optional<Results> read(Group group) throws IOException {
        if (!Files.exists(path)) {
            return Optional.empty();
        }
        Map<String, String> about = new TreeMap<>();
        List<Round> rounds = new ArrayList<>();
        for (String line : Files.readAllLines(path, StandardCharsets.UTF_8)) {
            if (line.startsWith("# ")) {
                int equals = line.indexOf('=');
                about.put(line.substring(2, equals), line.substring(equals + 1));
            } else if (!line.equals(HEADER) && !line.isBlank()) {
                rounds.add(round(line));
            }
        }
        Run run = new Run(
                about.getOrDefault("date", ""),
                about.getOrDefault("command", ""),
                about.getOrDefault("jdk", ""),
                Integer.parseInt(about.getOrDefault("cores", "0")),
                about.getOrDefault("system", ""));
        return Optional.of(Results.of(group, run, rounds));
    }

    private static String line(Round round) {
        StringBuilder details = new StringBuilder();
        new TreeMap<>(round.sample().details()).forEach((name, figure) -> {
            details.append(details.isEmpty() ? "" : ",")
                    .append(name)
                    .append('=')
                    .append(figure);
        });
        return String.join(
                ";",
                round.contender(),
                Integer.toString(round.number()),
                Double.toString(round.sample().value()),
                Double.toString(round.sample().bytesPerOperation()),
                details);
    }

    private static Round round(String line) {
        String[] fields = line.split(";", -1);
        Map<String, Double> details = new TreeMap<>();
        if (!fields[4].isEmpty()) {
            for (String detail : fields[4].split(",", -1)) {
                int equals = detail.lastIndexOf('=');
                details.put(detail.substring(0, equals), Double.parseDouble(detail.substring(equals + 1)));
            }
        }
        Sample sample = new Sample(Double.parseDouble(fields[2]), Double.parseDouble(fields[3]), details);
        return new Round(fields[0], Integer.parseInt(fields[1]), sample);
    }
}
