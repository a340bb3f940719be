package io.github.reactorratelimit.webflux.documentation;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The Java blocks of the guides about the web compile: {@code docs/web*.md}. */
class DocumentationTest {

    private static final Path DOCS =
            Path.of(System.getProperty("basedir", "")).toAbsolutePath().resolveSibling("docs");
    private static final Pattern TYPE = Pattern.compile("(?m)^(class|interface|record|enum) .*");
    private static final Pattern MEMBER = Pattern.compile("(?m)^@.*");

    @TempDir
    Path classes;

    private static String prelude() throws IOException {
        try (var in = DocumentationTest.class.getResourceAsStream("/documentation/WebPrelude.java")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    /** A block in a file, with the number of its first line. */
    private record Block(String file, int line, String text) {

        String className() {
            return "Web_" + file.replaceAll("\\W", "_") + "_" + line;
        }

        /** Every line keeps its number. */
        String source(String imports) {
            String padding = "\n".repeat(line - 1);
            if (TYPE.matcher(text).find()) {
                return imports + padding + text;
            }
            String type = " abstract class " + className() + " extends WebPrelude { ";
            return MEMBER.matcher(text).find()
                    ? imports + type + padding + text + "}"
                    : imports + type + "void run() { " + padding + text + "}}";
        }
    }

    private static List<Block> blocks() throws IOException {
        List<Block> blocks = new ArrayList<>();
        try (Stream<Path> files = Files.list(DOCS)) {
            for (Path file : files.filter(DocumentationTest::isAboutTheWeb).toList()) {
                List<String> lines = Files.readAllLines(file);
                for (int i = 0; i < lines.size(); i++) {
                    if (lines.get(i).equals("```java")) {
                        int begin = i + 1;
                        int end = begin + lines.subList(begin, lines.size()).indexOf("```");
                        String text = String.join("\n", lines.subList(begin, end)) + "\n";
                        blocks.add(new Block(file.getFileName().toString(), begin + 1, text));
                    }
                }
            }
        }
        return blocks;
    }

    private static boolean isAboutTheWeb(Path file) {
        return file.getFileName().toString().matches("web.*\\.md");
    }

    private List<String> errorsOf(List<Block> blocks) throws IOException {
        String prelude = prelude();
        String imports =
                prelude.lines().filter(line -> line.startsWith("import ")).collect(Collectors.joining(" "));
        List<JavaFileObject> sources = new ArrayList<>();
        sources.add(new Source("WebPrelude", prelude));
        blocks.forEach(block -> sources.add(new Source(block.file(), block.source(imports))));
        DiagnosticCollector<JavaFileObject> diagnostics = new DiagnosticCollector<>();
        List<String> options =
                List.of("-proc:none", "-d", classes.toString(), "-classpath", System.getProperty("java.class.path"));
        ToolProvider.getSystemJavaCompiler()
                .getTask(null, null, diagnostics, options, null, sources)
                .call();
        return diagnostics.getDiagnostics().stream()
                .filter(diagnostic -> diagnostic.getKind() == Diagnostic.Kind.ERROR)
                .map(error -> ((Source) error.getSource()).file + ":" + error.getLineNumber() + ": "
                        + error.getMessage(Locale.ROOT))
                .toList();
    }

    private static final class Source extends SimpleJavaFileObject {

        private final String file;
        private final String text;

        Source(String file, String text) {
            super(URI.create("string:///" + file + text.hashCode() + ".java"), Kind.SOURCE);
            this.file = file;
            this.text = text;
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
        }

        @Override
        public boolean isNameCompatible(String simpleName, Kind kind) {
            return true;
        }
    }

    @Test
    void everyJavaBlockCompiles() throws IOException {
        List<Block> blocks = blocks();
        assertThat(blocks).hasSizeGreaterThan(5);
        assertThat(errorsOf(blocks)).isEmpty();
    }

    @Test
    void errorsNameFileAndLine() throws IOException {
        assertThat(errorsOf(List.of(new Block("broken.md", 7, "int one = 1;\nint two = \"2\";\n"))))
                .singleElement()
                .asString()
                .startsWith("broken.md:8: ")
                .contains("cannot be converted to int");
    }
}
