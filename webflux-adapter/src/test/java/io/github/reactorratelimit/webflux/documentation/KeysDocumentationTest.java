package io.github.reactorratelimit.webflux.documentation;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The Java blocks of the guide to keys compile. */
class KeysDocumentationTest {

    private static final Path GUIDE = Path.of(System.getProperty("basedir", ""))
            .toAbsolutePath()
            .resolveSibling("docs")
            .resolve("webflux-keys.md");

    private static final Pattern BLOCK = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);

    private static final String IMPORTS = """
            import io.github.reactorratelimit.*;
            import io.github.reactorratelimit.webflux.key.*;
            import org.springframework.context.annotation.Bean;
            import org.springframework.context.annotation.Configuration;
            """;

    @TempDir
    Path classes;

    @Test
    void everyJavaBlockCompiles() throws IOException {
        List<String> blocks = BLOCK.matcher(Files.readString(GUIDE))
                .results()
                .map((MatchResult block) -> block.group(1))
                .toList();
        assertThat(blocks).hasSize(4);
        for (String block : blocks) {
            assertThat(errorsOf(block)).as(block).isEmpty();
        }
    }

    @Test
    void errorsAreFound() {
        assertThat(errorsOf("WebKey key = WebKeys.nobody();"))
                .singleElement()
                .asString()
                .contains("nobody");
    }

    private List<String> errorsOf(String block) {
        boolean type = block.startsWith("import ");
        String source = IMPORTS + (type ? block : "class Block { void run() {\n" + block + "}}");
        DiagnosticCollector<JavaFileObject> diagnostics = new DiagnosticCollector<>();
        List<String> options =
                List.of("-proc:none", "-d", classes.toString(), "-classpath", System.getProperty("java.class.path"));
        ToolProvider.getSystemJavaCompiler()
                .getTask(null, null, diagnostics, options, null, List.of(new Source(source)))
                .call();
        return diagnostics.getDiagnostics().stream()
                .filter(diagnostic -> diagnostic.getKind() == Diagnostic.Kind.ERROR)
                .map(Object::toString)
                .toList();
    }

    private static final class Source extends SimpleJavaFileObject {

        private final String text;

        Source(String text) {
            super(URI.create("string:///Block.java"), Kind.SOURCE);
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
}
