package io.github.reactorratelimit.benchmarks.documentation;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.documentation.Snippet;
import io.github.reactorratelimit.documentation.SnippetCompiler;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code docs/migration.md} compiles, what it shows of the peers too. */
class MigrationTest {

    private static final Path GUIDE =
            Path.of(System.getProperty("basedir", "")).toAbsolutePath().resolveSibling("docs/migration.md");

    @TempDir
    Path classes;

    @Test
    void everyJavaBlockCompiles() throws IOException {
        List<Snippet> blocks = Snippet.in("migration.md", Files.readAllLines(GUIDE)).stream()
                .filter(Snippet::isJava)
                .toList();

        assertThat(blocks).hasSizeGreaterThan(5);
        assertThat(new SnippetCompiler(classes, "PeersPrelude").errorsOf(blocks))
                .isEmpty();
    }
}
