package io.github.reactorratelimit.documentation;

import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;

/** Compiles code blocks against the class path of the tests and a prelude: a class whose imports and members they may use. */
public final class SnippetCompiler {

    private final String preludeName;
    private final String prelude;
    private final Path classes;
    private final ClassLoader loader;

    /** @param preludeName of a class whose source is among the resources in {@code documentation} */
    public SnippetCompiler(Path classes, String preludeName) throws IOException {
        this.preludeName = preludeName;
        this.classes = classes;
        this.loader = new URLClassLoader(new URL[] {classes.toUri().toURL()}, SnippetCompiler.class.getClassLoader());
        try (var in = SnippetCompiler.class.getResourceAsStream("/documentation/" + preludeName + ".java")) {
            this.prelude = new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    /** What is wrong with each block, every error with its place in the Markdown file; blocks without are left out. */
    public Map<Snippet, List<String>> errorsOf(List<Snippet> snippets) {
        return errorsOf(snippets, "return null;");
    }

    /** One task for all of them: starting javac is what takes time. */
    private Map<Snippet, List<String>> errorsOf(List<Snippet> snippets, String after) {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        DiagnosticCollector<JavaFileObject> diagnostics = new DiagnosticCollector<>();
        List<String> options =
                List.of("-proc:none", "-d", classes.toString(), "-classpath", System.getProperty("java.class.path"));
        Map<String, Snippet> byName =
                snippets.stream().collect(Collectors.toMap(Snippet::className, snippet -> snippet));
        List<JavaFileObject> sources = new ArrayList<>();
        sources.add(new Source(preludeName, prelude));
        byName.forEach(
                (name, snippet) -> sources.add(new Source(name, snippet.asSource(imports(), preludeName, after))));
        compiler.getTask(null, null, diagnostics, options, null, sources).call();
        return diagnostics.getDiagnostics().stream()
                .filter(diagnostic -> diagnostic.getKind() == Diagnostic.Kind.ERROR)
                .collect(Collectors.groupingBy(
                        error -> byName.get(((Source) error.getSource()).name),
                        Collectors.mapping(SnippetCompiler::inWords, Collectors.toList())));
    }

    private static String inWords(Diagnostic<?> error) {
        return "line " + error.getLineNumber() + ": " + error.getMessage(Locale.ROOT);
    }

    /** Runs the statements of a block and then {@code after}, which may return what they declared. */
    Object run(Snippet snippet, String after) throws ReflectiveOperationException {
        Object instance = instanceOf(snippet, after);
        return invoke(instance, instance.getClass().getDeclaredMethod("run"));
    }

    /** Runs the methods of a block that are marked {@link Test}. */
    void runTests(Snippet snippet) throws ReflectiveOperationException {
        Object instance = instanceOf(snippet, "");
        for (Method method : instance.getClass().getDeclaredMethods()) {
            if (method.isAnnotationPresent(Test.class)) {
                invoke(instance, method);
            }
        }
    }

    private Object instanceOf(Snippet snippet, String after) throws ReflectiveOperationException {
        Map<Snippet, List<String>> errors = errorsOf(List.of(snippet), after);
        if (!errors.isEmpty()) {
            throw new IllegalStateException(errors.toString());
        }
        Constructor<?> constructor = loader.loadClass(snippet.className()).getDeclaredConstructor();
        constructor.setAccessible(true);
        return constructor.newInstance();
    }

    private static Object invoke(Object instance, Method method) throws ReflectiveOperationException {
        method.setAccessible(true);
        return method.invoke(instance);
    }

    private String imports() {
        return prelude.lines().filter(line -> line.startsWith("import ")).collect(Collectors.joining(" "));
    }

    private static final class Source extends SimpleJavaFileObject {

        private final String name;
        private final String text;

        Source(String name, String text) {
            super(URI.create("string:///" + name + ".java"), Kind.SOURCE);
            this.name = name;
            this.text = text;
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
        }

        /** A block may declare a public type of any name. */
        @Override
        public boolean isNameCompatible(String simpleName, Kind kind) {
            return true;
        }
    }
}
