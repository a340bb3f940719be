package io.github.reactorratelimit.documentation;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A call of Maven in a guide. */
record Command(String guide, String text) {

    private static final Pattern INLINE = Pattern.compile("`(?:\\w+=\\S+ )?(mvn [^`]+)`");
    private static final Pattern OWN_LINE = Pattern.compile("(?m)^ *(mvn .*)$");

    /** In code blocks and in the text; one that goes on in the next line is one command. */
    static List<Command> in(Guide guide) {
        String text = guide.text().replaceAll("\\\\\n *", "");
        return Stream.of(INLINE, OWN_LINE)
                .flatMap(pattern -> pattern.matcher(text).results())
                .map(match -> new Command(guide.name(), match.group(1).replaceAll("\\s+", " ")))
                .toList();
    }

    /** What an option says, without quotes: {@code -pl}, {@code -Dtest}. */
    Optional<String> option(String name) {
        return Pattern.compile("(?:^| )" + Pattern.quote(name) + "[ =]?(\"[^\"]*\"|'[^']*'|\\S+)")
                .matcher(text)
                .results()
                .findFirst()
                .map(match -> match.group(1).replaceAll("[\"']", ""));
    }

    private List<String> listed(String option) {
        return option(option).map(value -> List.of(value.split(","))).orElse(List.of());
    }

    List<String> modules() {
        return listed("-pl").stream().map(module -> module.replace("!", "")).toList();
    }

    /** The names of test classes, or patterns of them. */
    List<String> tests() {
        return listed("-Dtest=").stream()
                .map(test -> test.replaceFirst("#.*", ""))
                .toList();
    }

    List<String> profiles() {
        return listed("-P");
    }

    List<String> benchmarkWords() {
        return option("-Dbench=").map(words -> Arrays.asList(words.split(" "))).orElse(List.of());
    }

    /** The benchmarks draw all figures of theirs; tests have the names of those that they draw in their sources. */
    boolean draws(Path figure) {
        if (figure.startsWith(Guide.ROOT.resolve("docs/benchmarks"))) {
            return !benchmarkWords().isEmpty();
        }
        String name = figure.getFileName().toString().replace(".svg", "");
        return (text.contains("-Dratelimit.docs.write=true") || text.contains("-Dratelimit.charts="))
                && tests().stream()
                        .flatMap(test -> sourcesOf(test).stream())
                        .anyMatch(source -> Guide.read(source).text().contains('"' + name));
    }

    /** The files of a test class of any module, by its name or a pattern of it. */
    static List<Path> sourcesOf(String test) {
        Pattern name = Pattern.compile(test.replace("*", "\\w*") + "\\.java");
        try (Stream<Path> modules = Files.list(Guide.ROOT)) {
            return modules.map(module -> module.resolve("src/test/java"))
                    .filter(Files::isDirectory)
                    .map(folder -> Guide.nameOf(folder))
                    .flatMap(Command::filesBelow)
                    .filter(file -> name.matcher(file.getFileName().toString()).matches())
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Stream<Path> filesBelow(String folder) {
        try {
            return Guide.filesBelow(folder).stream();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public String toString() {
        return guide + ": " + text;
    }
}
