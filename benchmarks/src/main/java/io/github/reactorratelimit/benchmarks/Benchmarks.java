package io.github.reactorratelimit.benchmarks;

import io.github.reactorratelimit.benchmarks.report.Report;
import io.github.reactorratelimit.benchmarks.report.Results;
import io.github.reactorratelimit.benchmarks.report.Run;
import io.github.reactorratelimit.benchmarks.report.Tables;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Runs groups side by side with the peers and writes {@code docs/benchmarks}.
 *
 * <pre>
 * mvn -q -pl benchmarks -am spring-boot:run -Dbench="quick"             all groups, minutes
 * mvn -q -pl benchmarks -am spring-boot:run -Dbench="full"              all groups, an hour or more
 * mvn -q -pl benchmarks -am spring-boot:run -Dbench="quick one-key flux"  groups whose names start so
 * mvn -q -pl benchmarks -am spring-boot:run -Dbench="list"              the names of the groups
 * mvn -q -pl benchmarks -am spring-boot:run -Dbench="report"            tables and charts again, from the data kept
 * </pre>
 */
public final class Benchmarks {

    private static final String COMMAND = "mvn -q -pl benchmarks -am spring-boot:run -Dbench=";

    private Benchmarks() {}

    /** Runs what the arguments name; {@code quick} if there are none. */
    public static void main(String[] arguments) throws Exception {
        List<String> words = new ArrayList<>(List.of(arguments));
        List<BenchmarkGroup> all = Groups.all();
        Report report =
                new Report(docs(), all.stream().map(BenchmarkGroup::group).toList());
        if (words.remove("list")) {
            all.forEach(group -> System.out.printf(
                    "%-28s %s%n", group.group().id(), group.group().title()));
            return;
        }
        if (words.remove("report")) {
            report.write();
            return;
        }
        Form form = form(words);
        List<BenchmarkGroup> chosen = chosen(all, words);
        String command = COMMAND + '"' + String.join(" ", arguments) + '"';
        new Runner(report, form, Run.now(command)).run(chosen);
        print(chosen, report.write());
    }

    private static Form form(List<String> words) {
        Form form = Form.QUICK;
        for (Form each : Form.values()) {
            if (words.remove(each.name().toLowerCase(Locale.ROOT))) {
                form = each;
            }
        }
        return form;
    }

    private static List<BenchmarkGroup> chosen(List<BenchmarkGroup> all, List<String> words) {
        for (String word : words) {
            if (all.stream().noneMatch(group -> group.group().id().startsWith(word))) {
                throw new IllegalArgumentException("no group starts with \"" + word + "\"; \"list\" lists them");
            }
        }
        return all.stream()
                .filter(group -> words.isEmpty()
                        || words.stream().anyMatch(word -> group.group().id().startsWith(word)))
                .toList();
    }

    private static void print(List<BenchmarkGroup> chosen, List<Results> all) {
        List<String> ids = chosen.stream().map(group -> group.group().id()).toList();
        for (Results results : all) {
            if (ids.contains(results.group().id())) {
                System.out.printf("%n%s%n%s", results.group().title(), Tables.table(results));
                results.verdicts().forEach(verdict -> System.out.println(verdict.text(results.group())));
            }
        }
    }

    /** The docs of the project this runs in, also from the directory of a module; or where {@code benchmarks.docs} points. */
    private static Path docs() {
        String given = System.getProperty("benchmarks.docs");
        if (given != null) {
            return Path.of(given);
        }
        Path here = Path.of("").toAbsolutePath();
        for (Path directory = here; directory != null; directory = directory.getParent()) {
            if (Files.isDirectory(directory.resolve("docs")) && Files.isDirectory(directory.resolve("benchmarks"))) {
                return directory.resolve("docs").resolve("benchmarks");
            }
        }
        throw new IllegalStateException("no docs directory above " + here + "; name one with -Dbenchmarks.docs");
    }
}
