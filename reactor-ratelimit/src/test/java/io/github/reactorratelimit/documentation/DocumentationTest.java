package io.github.reactorratelimit.documentation;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import reactor.core.publisher.Flux;
import reactor.test.StepVerifier;

/** The documentation compiles, and its first example does what it says. */
class DocumentationTest {

    /** Guides whose blocks are compiled where what they need is: Spring in the web module, the peers in the benchmarks. */
    private static final Pattern COMPILED_ELSEWHERE = Pattern.compile("docs/(web|migration).*");

    @TempDir
    static Path classes;

    private static List<Snippet> snippets() throws IOException {
        return Guide.all().stream().flatMap(guide -> guide.snippets().stream()).toList();
    }

    @TestFactory
    Stream<DynamicTest> everyJavaBlockCompiles() throws IOException {
        List<Snippet> blocks = snippets().stream()
                .filter(block -> block.isJava()
                        && !COMPILED_ELSEWHERE.matcher(block.file()).matches())
                .toList();
        Map<Snippet, List<String>> errors = new SnippetCompiler(classes, "Prelude").errorsOf(blocks);
        return blocks.stream()
                .map(block -> DynamicTest.dynamicTest(
                        block.toString(),
                        () -> assertThat(errors.getOrDefault(block, List.of()))
                                .as(block.toString())
                                .isEmpty()));
    }

    @Test
    void everyBlockSaysItsLanguage() throws IOException {
        assertThat(snippets())
                .allSatisfy(snippet -> assertThat(snippet.language())
                        .as(snippet.toString())
                        .isIn("java", "xml", "yaml", "sh", "text"));
    }

    @Test
    void everyGuideShowsCode() throws IOException {
        Map<String, Long> javaBlocks = snippets().stream()
                .filter(Snippet::isJava)
                .collect(Collectors.groupingBy(Snippet::file, Collectors.counting()));
        assertThat(javaBlocks)
                .containsKeys(
                        "README.md", "docs/policies.md", "docs/operators.md", "docs/waiting.md", "docs/testing.md");
    }

    @Test
    void errorsNameFileAndLine() throws IOException {
        List<String> text =
                List.of("# Title", "", "- item", "  ```java", "  int one = 1;", "  int two = \"2\";", "  ```");
        List<Snippet> broken = Snippet.in("docs/broken.md", text);

        Map<Snippet, List<String>> errors = new SnippetCompiler(classes, "Prelude").errorsOf(broken);

        assertThat(errors).containsOnlyKeys(broken.get(0));
        assertThat(broken.get(0)).hasToString("docs/broken.md:5");
        assertThat(errors.get(broken.get(0)))
                .singleElement()
                .asString()
                .startsWith("line 6: ")
                .contains("cannot be converted to int");
    }

    /** The stream is endless: 20 pass at once, the others leave every 10 ms. */
    @Test
    void firstExampleOfTheReadmePacesItsStream() throws IOException {
        SnippetCompiler compiler = new SnippetCompiler(classes, "Prelude");
        Snippet first = snippets().stream()
                .filter(block -> block.file().equals("README.md") && block.isJava())
                .findFirst()
                .orElseThrow();

        StepVerifier.withVirtualTime(() -> run(compiler, first))
                .expectSubscription()
                .expectNextCount(20)
                .expectNoEvent(ofMillis(9))
                .thenAwait(ofMillis(1))
                .expectNextCount(1)
                .expectNoEvent(ofMillis(9))
                .thenAwait(ofMillis(1))
                .expectNextCount(1)
                .thenAwait(ofMillis(1_000))
                .expectNextCount(100)
                .thenCancel()
                .verify(ofSeconds(10));
    }

    @TestFactory
    Stream<DynamicTest> testsInTheGuidesPass() throws IOException {
        SnippetCompiler compiler = new SnippetCompiler(classes, "Prelude");
        return snippets().stream()
                .filter(block -> block.isJava() && block.lines().contains("@Test"))
                .map(block -> DynamicTest.dynamicTest(block.toString(), () -> compiler.runTests(block)));
    }

    private static Flux<?> run(SnippetCompiler compiler, Snippet snippet) {
        try {
            return (Flux<?>) compiler.run(snippet, "return paced;");
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
