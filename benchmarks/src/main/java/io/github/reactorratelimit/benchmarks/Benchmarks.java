package io.github.reactorratelimit.benchmarks;

import io.github.reactorratelimit.benchmarks.report.Report;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Runs groups and writes {@code docs/benchmarks}. {@code docs/benchmarks.md} lists the commands.
 *
 * <pre>
 * mvn -q -pl benchmarks -am spring-boot:run -Dbench="quick"               every group
 * mvn -q -pl benchmarks -am spring-boot:run -Dbench="quick one-key flux"  groups that start with a word
 * mvn -q -pl benchmarks -am spring-boot:run -Dbench="list"                the names of the groups
 * mvn -q -pl benchmarks -am spring-boot:run -Dbench="report"              tables and charts from stored results
 * </pre>
 */
public final class Benchmarks {

    private Benchmarks() {}

    /** Runs the groups that the arguments name; {@code quick} and every group by default. */
    public static void main(String[] arguments) throws Exception {
        List<String> words = new ArrayList<>(List.of(arguments));
        if (words.remove("list")) {
            Groups.ALL.forEach(group -> System.out.printf("%-24s %s%n", group.name(), group.title()));
            return;
        }
        Report report = new Report(docs(), Groups.ALL);
        if (!words.remove("report")) {
            Rounds.Form form = form(words);
            Rounds rounds = new Rounds(form, baseline(), true);
            String command = "-Dbench=\"" + String.join(" ", arguments) + '"';
            for (Group group : chosen(words)) {
                report.keep(group, rounds.run(group), command);
            }
        }
        report.write();
    }

    private static Rounds.Form form(List<String> words) {
        return Arrays.stream(Rounds.Form.values())
                .filter(form -> words.remove(form.name().toLowerCase(Locale.ROOT)))
                .findFirst()
                .orElse(Rounds.Form.QUICK);
    }

    static List<Group> chosen(List<String> words) {
        for (String word : words) {
            if (Groups.ALL.stream().noneMatch(group -> group.name().startsWith(word))) {
                throw new IllegalArgumentException("no group starts with \"" + word + "\"; \"list\" lists them");
            }
        }
        return Groups.ALL.stream()
                .filter(group -> words.isEmpty()
                        || words.stream().anyMatch(word -> group.name().startsWith(word)))
                .toList();
    }

    private static @Nullable Path baseline() {
        String jar = System.getProperty("bench.baseline", "");
        if (jar.isEmpty()) {
            return null;
        }
        Path path = Path.of(jar).toAbsolutePath();
        if (!Files.exists(path)) {
            throw new IllegalArgumentException("bench.baseline: there is no " + path);
        }
        return path;
    }

    /** The project's {@code docs/benchmarks}, or the directory that {@code bench.docs} names. */
    private static Path docs() {
        String given = System.getProperty("bench.docs", "");
        if (!given.isEmpty()) {
            return Path.of(given);
        }
        Path here = Path.of("").toAbsolutePath();
        for (Path directory = here; directory != null; directory = directory.getParent()) {
            if (Files.isDirectory(directory.resolve("docs")) && Files.isDirectory(directory.resolve("benchmarks"))) {
                return directory.resolve("docs").resolve("benchmarks");
            }
        }
        throw new IllegalStateException("no docs directory above " + here + "; set -Dbench.docs");
    }
}
