package io.github.reactorratelimit.examples.playground.live;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.examples.playground.Fields;
import java.io.IOException;
import java.io.StringWriter;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CodeSampleTest {

    @TempDir
    Path output;

    @Test
    void whatIsShownToBeCopiedCompilesAndNamesThePolicyThatRuns() throws IOException {
        List<JavaFileObject> sources = new ArrayList<>();
        for (Kind kind : Kind.values()) {
            for (String mode : List.of("reject", "delay")) {
                Map<String, Object> json = LiveApiTest.settings();
                json.putAll(Map.of("policy", Fields.textOf(kind), "mode", mode));
                Settings settings = Settings.of(json);
                String code = CodeSample.of(settings);

                assertThat(code)
                        .contains(kind.policy(settings.limits()).getClass().getSimpleName() + ".");
                sources.add(source("Calls" + sources.size(), code));
            }
        }
        assertThat(compile(sources)).isEmpty();
    }

    private static JavaFileObject source(String name, String code) {
        return new SimpleJavaFileObject(URI.create("string:///" + name + ".java"), JavaFileObject.Kind.SOURCE) {
            @Override
            public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                return code.replace("class Calls", "class " + name);
            }
        };
    }

    private String compile(List<JavaFileObject> sources) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        StringWriter complaints = new StringWriter();
        List<String> options =
                List.of("-proc:none", "-cp", System.getProperty("java.class.path"), "-d", output.toString());
        try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
            boolean compiled = compiler.getTask(complaints, files, null, options, null, sources)
                    .call();
            return compiled ? "" : complaints.toString();
        }
    }
}
