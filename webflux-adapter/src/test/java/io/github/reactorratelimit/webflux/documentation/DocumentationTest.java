package io.github.reactorratelimit.webflux.documentation;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.documentation.Snippet;
import io.github.reactorratelimit.documentation.SnippetCompiler;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The Java blocks of the guides about the web compile: {@code docs/web*.md}. */
class DocumentationTest {

    private static final Path DOCS =
            Path.of(System.getProperty("basedir", "")).toAbsolutePath().resolveSibling("docs");

    @TempDir
    Path classes;

    private static List<Snippet> blocks() throws IOException {
        List<Snippet> blocks = new ArrayList<>();
        try (Stream<Path> files = Files.list(DOCS)) {
            for (Path file : files.filter(DocumentationTest::isAboutTheWeb).toList()) {
                blocks.addAll(Snippet.in(file.getFileName().toString(), Files.readAllLines(file)));
            }
        }
        return blocks.stream().filter(Snippet::isJava).toList();
    }

    private static boolean isAboutTheWeb(Path file) {
        return file.getFileName().toString().matches("web.*\\.md");
    }

    @Test
    void everyJavaBlockCompiles() throws IOException {
        List<Snippet> blocks = blocks();

        assertThat(blocks).hasSizeGreaterThan(5);
        assertThat(new SnippetCompiler(classes, "WebPrelude").errorsOf(blocks)).isEmpty();
    }
}
