package io.github.reactorratelimit.documentation;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A Markdown file of the repository: what it links to, and what can be linked to in it. */
record Guide(Path path, String text) {

    static final Path ROOT =
            Path.of(System.getProperty("basedir", "")).toAbsolutePath().getParent();

    private static final Pattern FENCED = Pattern.compile("(?ms)^ *```.*?^ *```$");
    private static final Pattern HEADING = Pattern.compile("(?m)^#+ +(.*)$");
    private static final Pattern LINK = Pattern.compile("\\]\\(([^)\\s]+)\\)");
    private static final Pattern IMAGE = Pattern.compile("!\\[[^\\]]+\\]\\(([^)\\s]+)\\)");
    private static final Pattern ELSEWHERE = Pattern.compile("[a-z]+:.*");

    /** Of the repository itself and of all folders below {@code docs}. */
    static List<Guide> all() throws IOException {
        try (Stream<Path> top = Files.list(ROOT)) {
            return Stream.concat(top, filesBelow("docs").stream())
                    .filter(path -> path.toString().endsWith(".md"))
                    .sorted()
                    .map(Guide::read)
                    .toList();
        }
    }

    static List<Path> filesBelow(String folder) throws IOException {
        try (Stream<Path> files = Files.walk(ROOT.resolve(folder))) {
            return files.filter(Files::isRegularFile).toList();
        }
    }

    static Guide read(Path path) {
        try {
            return new Guide(path, Files.readString(path).replace("\r\n", "\n"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static String nameOf(Path path) {
        return ROOT.relativize(path).toString().replace('\\', '/');
    }

    String name() {
        return nameOf(path);
    }

    List<Snippet> snippets() {
        return Snippet.in(name(), text.lines().toList());
    }

    private String prose() {
        return FENCED.matcher(text).replaceAll("");
    }

    /** What its links to files of the repository, or to its own headings, say. */
    List<String> links() {
        return found(LINK, prose())
                .filter(Predicate.not(ELSEWHERE.asMatchPredicate()))
                .toList();
    }

    List<Path> images() {
        return found(IMAGE, prose()).map(this::target).toList();
    }

    /** The file that a link leads to. */
    Path target(String link) {
        String file = link.replaceFirst("#.*", "");
        return file.isEmpty() ? path : path.resolveSibling(file).normalize();
    }

    /** How its headings are linked to: the way that GitHub makes anchors of them. */
    Set<String> anchors() {
        Map<String, Integer> seen = new HashMap<>();
        return found(HEADING, prose())
                .map(heading -> heading.strip()
                        .toLowerCase(Locale.ROOT)
                        .replaceAll("\\[([^\\]]*)\\]\\([^)]*\\)", "$1")
                        .replaceAll("[^\\p{L}\\p{N}_\\- ]", "")
                        .replace(' ', '-'))
                .map(anchor ->
                        seen.merge(anchor, 1, Integer::sum) == 1 ? anchor : anchor + "-" + (seen.get(anchor) - 1))
                .collect(Collectors.toSet());
    }

    private static Stream<String> found(Pattern pattern, String text) {
        return pattern.matcher(text).results().map((MatchResult match) -> match.group(1));
    }
}
